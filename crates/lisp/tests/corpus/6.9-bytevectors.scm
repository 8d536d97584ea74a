; 6.9 Bytevectors.
#u8(0 10 5) ⇒ #u8(0 10 5)
(bytevector? #u8(1)) ⇒ #t
(bytevector? #(1)) ⇒ #f
(make-bytevector 2 12) ⇒ #u8(12 12)
(bytevector-length (make-bytevector 3)) ⇒ 3
(make-bytevector 2 256) ⇒ !range
(bytevector 1 3 5 1 3 5) ⇒ #u8(1 3 5 1 3 5)
(bytevector) ⇒ #u8()
(bytevector 1 -1) ⇒ !range
(bytevector-u8-ref #u8(1 1 2 3 5 8 13 21) 5) ⇒ 8
(bytevector-u8-ref #u8(1) 1) ⇒ !range
(bytevector-u8-ref #u8(1) -1) ⇒ !range
(let ((bv (bytevector 1 2 3 4))) (bytevector-u8-set! bv 1 3) bv) ⇒ #u8(1 3 3 4)
(bytevector-u8-set! (bytevector 1) 0 300) ⇒ !range
(bytevector-copy #u8(1 2 3 4 5) 2 4) ⇒ #u8(3 4)
(bytevector-copy #u8(1 2 3) 1) ⇒ #u8(2 3)
(bytevector-copy #u8(1 2 3) 2 1) ⇒ !range
(let ((a (bytevector 1 2 3 4 5)) (b (bytevector 10 20 30 40 50))) (bytevector-copy! b 1 a 0 2) b) ⇒ #u8(10 1 2 40 50)
(let ((a (bytevector 1 2 3 4 5))) (bytevector-copy! a 1 a 0 4) a) ⇒ #u8(1 1 2 3 4)
(bytevector-copy! (bytevector 1) 0 #u8(1 2 3)) ⇒ !range
(bytevector-append #u8(0 1 2) #u8(3 4 5)) ⇒ #u8(0 1 2 3 4 5)
(bytevector-append) ⇒ #u8()
(utf8->string #u8(#x41)) ⇒ "A"
(string->utf8 "λ") ⇒ #u8(206 187)
(utf8->string #u8(206 187 65) 2) ⇒ "A"
(string->utf8 "abc" 1 2) ⇒ #u8(98)
(equal? #u8(1 2) (bytevector 1 2)) ⇒ #t
(equal? #u8(1 2) #u8(2 1)) ⇒ #f
(bytevector 7 8 9) ⇒ #u8(7 8 9)
(bytevector? "b") ⇒ #f
(bytevector-length #u8()) ⇒ 0
(make-bytevector 3 7) ⇒ #u8(7 7 7)
(let* ((a #u8(1 2 3 4)) (b (bytevector-copy a))) (bytevector-u8-set! b 0 9) (list a b)) ⇒ (#u8(1 2 3 4) #u8(9 2 3 4))
(let ((a (bytevector 1 2 3 4 5))) (bytevector-copy! a 0 a 2) a) ⇒ #u8(3 4 5 4 5)
(bytevector-append #u8(1) #u8() #u8(2 3)) ⇒ #u8(1 2 3)
(utf8->string #u8(#x50 #x51)) ⇒ "PQ"
(utf8->string #u8(#x50 #x51 #x52) 1 2) ⇒ "Q"
(string->utf8 "é") ⇒ #u8(195 169)
(string->utf8 "pqr" 2) ⇒ #u8(114)
(let ((b (bytevector 1 2 3))) (bytevector-fill! b 9 1) b) ⇒ #u8(1 9 9)

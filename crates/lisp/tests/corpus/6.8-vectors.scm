; 6.8 Vectors, 6.9 bytevectors.
(vector? #(1)) ⇒ #t
(vector? '(1)) ⇒ #f
(make-vector 2 'a) ⇒ #(a a)
(make-vector -1) ⇒ !range
(make-vector 'a) ⇒ !type
(vector 'a 'b 'c) ⇒ #(a b c)
(vector-length #(1 2 3)) ⇒ 3
(vector-ref #(1 1 2 3 5 8 13 21) 5) ⇒ 8
(vector-ref #(1 2) 2) ⇒ !range
(vector-ref #(1 2) -1) ⇒ !range
(vector-ref #(1 2) 1.0) ⇒ !type
(vector-ref '(1 2) 0) ⇒ !type
(let ((vec (vector 0 '(2 2 2 2) "Anna"))) (vector-set! vec 1 '("Sue" "Sue")) vec) ⇒ #(0 ("Sue" "Sue") "Anna")
(vector-set! (vector) 0 1) ⇒ !range
(vector->list #(dah dah didah)) ⇒ (dah dah didah)
(vector->list #(dah dah didah) 1) ⇒ (dah didah)
(vector->list #(dah dah didah) 1 2) ⇒ (dah)
(list->vector '(dididit dah)) ⇒ #(dididit dah)
(let ((a #(1 8 2 8))) (vector-copy a 2 4)) ⇒ #(2 8)
(let ((a (vector 1 2 3 4 5)) (b (vector 10 20 30 40 50))) (vector-copy! b 1 a 0 2) b) ⇒ #(10 1 2 40 50)
(let ((a (vector 1 2 3 4))) (vector-copy! a 1 a 0 3) a) ⇒ #(1 1 2 3)
(vector-copy! (vector 1) 0 (vector 1 2)) ⇒ !range
(vector-append #(a b c) #(d e f)) ⇒ #(a b c d e f)
(let ((a (vector 1 2 3 4 5))) (vector-fill! a 'smash 2 4) a) ⇒ #(1 2 smash smash 5)
(vector-map cadr #((a b) (d e) (g h))) ⇒ #(b e h)
(vector-map + #(1 2) #(10 20 30)) ⇒ #(11 22)
(let ((v (make-vector 5))) (vector-for-each (lambda (i) (vector-set! v i (* i i))) #(0 1 2 3 4)) v) ⇒ #(0 1 4 9 16)
(vector-grow #(1 2) 2) ⇒ #(1 2)
(subvector #(1 2 3 4) 1 3) ⇒ #(2 3)
(bytevector 1 3 5) ⇒ #u8(1 3 5)
(bytevector 256) ⇒ !range
(bytevector) ⇒ #u8()
(make-bytevector 2 12) ⇒ #u8(12 12)
(bytevector? #u8(1)) ⇒ #t
(bytevector-u8-ref #u8(1 1 2 3 5 8) 5) ⇒ 8
(bytevector-u8-ref #u8(1) 1) ⇒ !range
(let ((bv (bytevector 1 2 3 4))) (bytevector-u8-set! bv 1 3) bv) ⇒ #u8(1 3 3 4)
(bytevector-length #u8(1 2)) ⇒ 2
(bytevector-copy #u8(1 2 3 4 5) 2 4) ⇒ #u8(3 4)
(let ((a (bytevector 1 2 3 4 5)) (b (bytevector 10 20 30 40 50))) (bytevector-copy! b 1 a 0 2) b) ⇒ #u8(10 1 2 40 50)
(bytevector-append #u8(0 1) #u8(2)) ⇒ #u8(0 1 2)
(utf8->string #u8(#x41)) ⇒ "A"
(utf8->string #u8(255)) ⇒ !range
(string->utf8 "λ") ⇒ #u8(206 187)
(utf8->string (string->utf8 "héllo") 1 3) ⇒ "é"

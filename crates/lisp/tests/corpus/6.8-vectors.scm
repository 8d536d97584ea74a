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
; Vectors one by one.
(vector? (vector)) ⇒ #t
(vector? "v") ⇒ #f
(vector-length (make-vector 3)) ⇒ 3
(vector-length #()) ⇒ 0
(vector 'p "q" 3) ⇒ #(p "q" 3)
(vector-ref #(1 1 2 3 5 8 13) (exact (round (* 2 (acos -1))))) ⇒ 13
(let ((v (vector 0 '(1 1) "two"))) (vector-set! v 1 "one") v) ⇒ #(0 "one" "two")
(vector->list #(p q r)) ⇒ (p q r)
(vector->list #(p q r) 2) ⇒ (r)
(vector->list #(p q r) 1 2) ⇒ (q)
(vector->list #(p q r) 2 1) ⇒ !range
(list->vector '()) ⇒ #()
(list->vector '(p . q)) ⇒ !type
(string->vector "PQR") ⇒ #(#\P #\Q #\R)
(string->vector "PQR" 1 2) ⇒ #(#\Q)
(vector->string #(#\1 #\2 #\3)) ⇒ "123"
(vector->string #(#\1 #\2 #\3) 1) ⇒ "23"
(vector->string #(1)) ⇒ !type
(let* ((a #(1 8 2 8)) (b (vector-copy a))) (vector-set! b 0 3) (list a b (vector-copy b 1 3))) ⇒ (#(1 8 2 8) #(3 8 2 8) #(8 2))
(vector-copy #(1 2) 3) ⇒ !range
(let ((a (vector 1 2 3 4 5))) (vector-copy! a 0 a 2) a) ⇒ #(3 4 5 4 5)
(let ((a (vector 1 2 3 4 5))) (vector-copy! a 2 #(p q)) a) ⇒ #(1 2 p q 5)
(vector-append) ⇒ #()
(vector-append #(p) #() #(q r)) ⇒ #(p q r)
(vector-append #(p) '(q)) ⇒ !type
(let ((v (vector 1 2 3))) (vector-fill! v 0) v) ⇒ #(0 0 0)
(let ((v (vector 1 2 3))) (vector-fill! v 0 2) v) ⇒ #(1 2 0)
(vector-map car #((p q) (r s))) ⇒ #(p r)
(vector-map (lambda (n) (expt n n)) #(1 2 3 4)) ⇒ #(1 4 27 256)
(vector-map * #(1 2 3) #(10 20)) ⇒ #(10 40)
(let ((n 0)) (vector-sort (vector-map (lambda (ignored) (set! n (+ n 1)) n) #(a b)) <)) ⇒ #(1 2)
(let ((v (make-vector 4))) (vector-for-each (lambda (i) (vector-set! v i (* 10 i))) #(0 1 2 3)) v) ⇒ #(0 10 20 30)
(let ((sum 0)) (vector-for-each (lambda (a b) (set! sum (+ sum (* a b)))) #(1 2 3) #(4 5)) sum) ⇒ 14

; 6.1 Equivalence predicates.
(eqv? 'a 'a) ⇒ #t
(eqv? 'a 'b) ⇒ #f
(eqv? 2 2) ⇒ #t
(eqv? 2 2.0) ⇒ #f
(eqv? '() '()) ⇒ #t
(eqv? 100000000000000000000 100000000000000000000) ⇒ #t
(eqv? 1/3 1/3) ⇒ #t
(eqv? 0.0 -0.0) ⇒ #f
(eqv? +nan.0 +nan.0) ⇒ #t
(eqv? (cons 1 2) (cons 1 2)) ⇒ #f
(eqv? (lambda () 1) (lambda () 2)) ⇒ #f
(let ((p (lambda (x) x))) (eqv? p p)) ⇒ #t
(eqv? #f 'nil) ⇒ #f
(eqv? "" "") ⇒ #t
(eqv? #\a #\a) ⇒ #t
(eq? 'a 'a) ⇒ #t
(eq? (list 'a) (list 'a)) ⇒ #f
(eq? '() '()) ⇒ #t
(eq? car car) ⇒ #t
(let ((x '(a))) (eq? x x)) ⇒ #t
(equal? 'a 'a) ⇒ #t
(equal? '(a) '(a)) ⇒ #t
(equal? '(a (b) c) '(a (b) c)) ⇒ #t
(equal? "abc" "abc") ⇒ #t
(equal? 2 2) ⇒ #t
(equal? (make-vector 5 'a) (make-vector 5 'a)) ⇒ #t
(equal? '#1=(a b . #1#) '#2=(a b a b . #2#)) ⇒ #t
(equal? '#1=(a b . #1#) '#2=(a c a b . #2#)) ⇒ #f
(equal? #u8(1 2) #u8(1 2)) ⇒ #t
(equal? #(1 2) #(1 3)) ⇒ #f
(equal? #(1 2) '(1 2)) ⇒ #f
(equal? 1.0 1) ⇒ #f
(equal? "a" 'a) ⇒ #f
(let ((v (vector 1))) (vector-set! v 0 v) (equal? v v)) ⇒ #t
; Procedures: the same one is itself, and two with different states differ.
(define make-counter (lambda () (let ((n 0)) (lambda () (set! n (+ n 1)) n)))) ⇒ 
(let ((c (make-counter))) (eqv? c c)) ⇒ #t
(eqv? (make-counter) (make-counter)) ⇒ #f
(letrec ((f (lambda () (if (eqv? f g) 'f 'both))) (g (lambda () (if (eqv? f g) 'g 'both)))) (eqv? f g)) ⇒ #f
(let ((x '(p))) (eqv? x x)) ⇒ #t
(eqv? 0.0 +nan.0) ⇒ #f
(eqv? 0.0 0.0) ⇒ #t
(eqv? 1.0e0 1.0f0) ⇒ #t
(eqv? "ab" "ab") ⇒ #f
(eq? "" "a") ⇒ #f
(eqv? #t #t) ⇒ #t
(eqv? #t 't) ⇒ #f
(eqv? 'abc 'abc) ⇒ #t
(eqv? car cdr) ⇒ #f
(let ((v (vector))) (eq? v v)) ⇒ #t
(let ((p (lambda (x) x))) (eq? p p)) ⇒ #t
(equal? '(p (q) r) '(p (q) r)) ⇒ #t
(equal? "pqr" "pqr") ⇒ #t
(equal? 7 7) ⇒ #t
(equal? (make-vector 3 'p) (make-vector 3 'p)) ⇒ #t
(equal? #\a #\a) ⇒ #t
(equal? '#3=(x y . #3#) '#4=(x y x y . #4#)) ⇒ #t
(equal? (lambda () 1) (lambda () 1)) ⇒ #f

; 4.2 Derived expression types.
(cond ((> 3 2) 'greater) ((< 3 2) 'less)) ⇒ greater
(cond ((> 3 3) 'greater) ((< 3 3) 'less) (else 'equal)) ⇒ equal
(cond ((assv 'b '((a 1) (b 2))) => cadr) (else #f)) ⇒ 2
(cond ((assv 'z '((a 1) (b 2))) => cadr) (else 'none)) ⇒ none
(cond (#f 1) (2)) ⇒ 2
(cond (#f 1)) ⇒ 
(cond) ⇒ 
(cond (#f 1) ((memv 1 '(0 1)) => car) (else 3)) ⇒ 1
(cond (1 => (lambda (x) (+ x 1)))) ⇒ 2
(cond (else 1) (2 3)) ⇒ !syntax
(case (* 2 3) ((2 3 5 7) 'prime) ((1 4 6 8 9) 'composite)) ⇒ composite
(case (car '(c d)) ((a) 'a) ((b) 'b)) ⇒ 
(case (car '(c d)) ((a e i o u) 'vowel) ((w y) 'semivowel) (else => (lambda (x) x))) ⇒ c
(case 3 ((3) => (lambda (x) (* x 10))) (else 0)) ⇒ 30
(case "a" (("a") 1) (else 2)) ⇒ 2
(case 1.5 ((1.5) 'same) (else 'other)) ⇒ same
(case #\a ((#\a #\b) 'letter) (else 'other)) ⇒ letter
(case 100000000000000000000 ((100000000000000000000) 'big) (else 'other)) ⇒ big
(case 'x ((x) 1 2 3)) ⇒ 3
(and (= 2 2) (> 2 1)) ⇒ #t
(and (= 2 2) (< 2 1)) ⇒ #f
(and 1 2 'c '(f g)) ⇒ (f g)
(and) ⇒ #t
(or (= 2 2) (> 2 1)) ⇒ #t
(or #f #f #f) ⇒ #f
(or (memq 'b '(a b c)) (/ 3 0)) ⇒ (b c)
(or) ⇒ #f
(if (or #f (and 1 #f) 3) 'yes 'no) ⇒ yes
(if (not (or #f #f)) 'yes 'no) ⇒ yes
(when (> 1 0) 1 2) ⇒ 2
(when #f 1) ⇒ 
(unless #f 1 2) ⇒ 2
(unless #t 1) ⇒ 
(cond-expand (full-unicode 'u) (else 'no)) ⇒ u
(cond-expand ((and r7rs (not nothing-like-it)) 1) (else 2)) ⇒ 1
(cond-expand ((library (scheme base)) 'base) (else 'none)) ⇒ base
(cond-expand ((library (scheme file)) 'file) (else 'none)) ⇒ none
(cond-expand ((or windows-like ratios) 1) (else 2)) ⇒ 1
(let ((x 2) (y 3)) (* x y)) ⇒ 6
(let ((x 2) (y 3)) (let ((x 7) (z (+ x y))) (* z x))) ⇒ 35
(let ((x 2) (y 3)) (let* ((x 7) (z (+ x y))) (* z x))) ⇒ 70
(let* () 5) ⇒ 5
(let* ((x 1) (x (+ x 1)) (x (* x 10))) x) ⇒ 20
(let ((x 1) (x 2)) x) ⇒ !syntax
(let ((x)) x) ⇒ !syntax
(let) ⇒ !syntax
(let ((x 1))) ⇒ !syntax
(letrec ((even? (lambda (n) (if (zero? n) #t (odd? (- n 1)))))
         (odd? (lambda (n) (if (zero? n) #f (even? (- n 1))))))
  (even? 88)) ⇒ #t
(letrec* ((p (lambda (x) (+ 1 (q (- x 1)))))
          (q (lambda (y) (if (zero? y) 0 (+ 1 (p (- y 1))))))
          (x (p 5)) (y x)) y) ⇒ 5
(letrec ((a b) (b 1)) a) ⇒ !unbound
(letrec ((a (lambda () b)) (b 2)) (a)) ⇒ 2
(letrec* ((a 1) (b (+ a 1))) b) ⇒ 2
(let-values (((root rem) (exact-integer-sqrt 32))) (* root rem)) ⇒ 35
(let ((a 'a) (b 'b) (x 'x) (y 'y)) (let*-values (((a b) (values x y)) ((x y) (values a b))) (list a b x y))) ⇒ (x y x y)
(let ((a 'a) (b 'b) (x 'x) (y 'y)) (let-values (((a b) (values x y)) ((x y) (values a b))) (list a b x y))) ⇒ (x y a b)
(let-values (((a . rest) (values 1 2 3)) (all (values 4 5))) (list a rest all)) ⇒ (1 (2 3) (4 5))
(receive (a . b) (values 1 2 3) (list a b)) ⇒ (1 (2 3))
(begin 1 2 3) ⇒ 3
(let ((x 0)) (begin (set! x 5) (+ x 1))) ⇒ 6
(do ((vec (make-vector 5)) (i 0 (+ i 1))) ((= i 5) vec) (vector-set! vec i i)) ⇒ #(0 1 2 3 4)
(let ((x '(1 3 5 7 9))) (do ((x x (cdr x)) (sum 0 (+ sum (car x)))) ((null? x) sum))) ⇒ 25
(do ((i 0 (+ i 1))) ((= i 3))) ⇒ 
(do ((i 0 (+ i 1)) (fs '() (cons (lambda () i) fs))) ((= i 3) (map (lambda (f) (f)) fs))) ⇒ (2 1 0)
(let loop ((numbers '(3 -2 1 6 -5)) (nonneg '()) (neg '()))
  (cond ((null? numbers) (list nonneg neg))
        ((>= (car numbers) 0) (loop (cdr numbers) (cons (car numbers) nonneg) neg))
        (else (loop (cdr numbers) nonneg (cons (car numbers) neg))))) ⇒ ((6 1 3) (-5 -2))
(let loop ((i 0)) (if (< i 10) (+ 1 (loop (+ i 1))) 0)) ⇒ 10
(let loop ((i 0) (acc '())) (if (< i 3) (loop (+ i 1) (cons (lambda () i) acc)) (map (lambda (f) (f)) acc))) ⇒ (2 1 0)
(let loop ((i 0)) (set! i (+ i 1)) (if (< i 5) (loop i) i)) ⇒ 5
(let f ((x 1)) (let g ((y 1)) (if (< y 3) (g (+ y 1)) (if (< x 3) (f (+ x 1)) (list x y))))) ⇒ (3 3)
(let loop ((i 0) (f #f)) (if (= i 0) (loop 1 loop) (procedure? f))) ⇒ #t
(+ 1 (let loop ((i 0)) (if (= i 5) i (loop (+ i 1)))) 10) ⇒ 16
(list (let loop ((i 0)) (if (= i 2) i (loop (+ i 1)))) (let loop ((i 0)) (if (= i 3) i (loop (+ i 1))))) ⇒ (2 3)
(let loop ((i 0) (j 10)) (if (< i j) (loop (+ i 1) (- j 1)) (list i j))) ⇒ (5 5)
(let loop ((a 1) (b 2) (n 3)) (if (= n 0) (list a b) (loop b a (- n 1)))) ⇒ (2 1)
(define-values (q r) (floor/ 7 2)) (list q r) ⇒ (3 1)
(force (delay (+ 1 2))) ⇒ 3
(let ((p (delay (+ 1 2)))) (list (force p) (force p))) ⇒ (3 3)
(define integers (letrec ((next (lambda (n) (delay (cons n (next (+ n 1))))))) (next 0))) ⇒ 
(define (head stream) (car (force stream))) (define (tail stream) (cdr (force stream))) (head (tail (tail integers))) ⇒ 2
(define (stream-filter p? s) (delay-force (if (null? (force s)) (delay '()) (let ((h (car (force s))) (t (cdr (force s)))) (if (p? h) (delay (cons h (stream-filter p? t))) (stream-filter p? t)))))) ⇒ 
(head (tail (tail (stream-filter odd? integers)))) ⇒ 5
(define count 0) (define p (delay (begin (set! count (+ count 1)) (if (> count x) count (force p))))) (define x 5) ⇒ 
(promise? p) ⇒ #t
(force p) ⇒ 6
(begin (set! x 10) (force p)) ⇒ 6
(let loop ((n 10000) (p (delay 0))) (if (= n 0) (force p) (loop (- n 1) (let ((q p)) (delay-force q))))) ⇒ 0
(define (stream-loop n) (if (= n 0) (delay 'end) (delay-force (stream-loop (- n 1))))) (force (stream-loop 200000)) ⇒ end
(force 5) ⇒ 5
(promise? (make-promise 5)) ⇒ #t
(force (make-promise (make-promise 5))) ⇒ 5
(define radix (make-parameter 10 (lambda (x) (if (and (exact-integer? x) (<= 2 x 16)) x (error "invalid radix"))))) ⇒ 
(define (f n) (number->string n (radix))) (f 12) ⇒ "12"
(parameterize ((radix 2)) (f 12)) ⇒ "1100"
(f 12) ⇒ "12"
(parameterize ((radix 0)) (f 12)) ⇒ !raised
(let ((p (make-parameter 1)) (q (make-parameter 2))) (parameterize ((p 3) (q (+ (p) 4))) (list (p) (q)))) ⇒ (3 5)
(parameterize () 5) ⇒ 5
(define range (case-lambda ((e) (range 0 e)) ((b e) (do ((r '() (cons e r)) (e (- e 1) (- e 1))) ((< e b) r))))) ⇒ 
(range 3) ⇒ (0 1 2)
(range 3 5) ⇒ (3 4)
(range) ⇒ !arity
((case-lambda ((a) 'one) ((a b . c) (list 'more c)) ) 1 2 3) ⇒ (more (3))
((case-lambda (() 'none) (all all)) 1) ⇒ (1)
`(list ,(+ 1 2) 4) ⇒ (list 3 4)
(let ((name 'a)) `(list ,name ',name)) ⇒ (list a 'a)
`(a ,(+ 1 2) ,@(map abs '(4 -5 6)) b) ⇒ (a 3 4 5 6 b)
`((foo ,(- 10 3)) ,@(cdr '(c)) . ,(car '(cons))) ⇒ ((foo 7) . cons)
`#(10 5 ,(sqrt 4) ,@(map sqrt '(16 9)) 8) ⇒ #(10 5 2 4 3 8)
`(a `(b ,(c ,(+ 1 2)))) ⇒ (a `(b ,(c 3)))
`(a `(b ,(foo ,(+ 1 3) d) e) f) ⇒ (a `(b ,(foo 4 d) e) f)
(let ((name1 'x) (name2 'y)) `(a `(b ,,name1 ,',name2 d) e)) ⇒ (a `(b ,x ,'y d) e)
`(1 . ,(+ 1 1)) ⇒ (1 . 2)
`,@(list 1) ⇒ !syntax
`(,@'() . tail) ⇒ tail
`(1 ,@(list 2 3)) ⇒ (1 2 3)
`5 ⇒ 5
`(x y) ⇒ (x y)
; A hole holds its value, also when its expression is a constant.
`(1 ,4) ⇒ (1 4)
`((a . ,1)) ⇒ ((a . 1))
`(,1 ,"two" ,#\3 ,#t ,'five) ⇒ (1 "two" #\3 #t five)
`#(,1 2 ,'three) ⇒ #(1 2 three)
`(a . #(b ,3)) ⇒ (a . #(b 3))
`,5 ⇒ 5
`(x ,@'(y z)) ⇒ (x y z)
`(,@'(1 2) . ,3) ⇒ (1 2 . 3)
`(,@'() ,@'(1) ,@'(2 3)) ⇒ (1 2 3)
`(nested (deep (,7))) ⇒ (nested (deep (7)))
`((1 2) ,(+ 1 2) ,'four 5) ⇒ ((1 2) 3 four 5)
(let ((xs '(p q)) (@y 'r)) `(list ,@xs , @y)) ⇒ (list p q r)
(quasiquote (sum (unquote (+ 2 3)) 6)) ⇒ (sum 5 6)
'(quasiquote (sum (unquote (+ 2 3)) 6)) ⇒ `(sum ,(+ 2 3) 6)
'(quasiquote (unquote-splicing x)) ⇒ `,@x
`(outer `(inner ,(kept ,(* 2 3)))) ⇒ (outer `(inner ,(kept 6)))
`(1 `(2 ,(3 ,4))) ⇒ (1 `(2 ,(3 4)))
`(1 `(2 ,@(3 ,@(list 4 5)))) ⇒ (1 `(2 ,@(3 4 5)))
`(1 `,@(2 ,(+ 1 2))) ⇒ (1 `,@(2 3))
`(1 `(2 ,,@(list 'a 'b))) ⇒ (1 `(2 (unquote a b)))
`(1 ```,,@,,@(list (+ 1 2)) 4) ⇒ (1 ```,,@,3 4)
(let ((one 'x) (two 'y)) `(a `(b ,,one ,',two))) ⇒ (a `(b ,x ,'y))
`#(unquote x) ⇒ #(unquote x)
`#(1 `#(2 ,(3 ,4))) ⇒ #(1 `#(2 ,(3 4)))
(let ((unquote list)) `(1 ,2)) ⇒ (1 ,2)
; Effects of conditionals, in order.
(when (= 2 2.0) (display "a") (display "b")) ⇒ ab
(unless (= 2 2.0) (display "a") (display "b")) ⇒ 
(begin (display "7 less 3 is ") (display (- 7 3))) ⇒ 7 less 3 is 4
(and 1 2 '(p q)) ⇒ (p q)
(or (memq 'q '(p q r)) (/ 1 0)) ⇒ (q r)
(case (car '(z y)) ((a e i) 'vowel) ((w y) 'semivowel) (else => (lambda (letter) (list 'plain letter)))) ⇒ (plain z)
(cond ((assv 'q '((p 8) (q 9))) => cadr) (else 'none)) ⇒ 9
(cond-expand ((and (library (scheme base)) (or full-unicode nothing)) 'both) (else 'no)) ⇒ both
(cond-expand (nothing 1)) ⇒ 
; Streams and promises.
(force (delay (* 6 7))) ⇒ 42
(let ((p (delay (* 6 7)))) (cons (force p) (force p))) ⇒ (42 . 42)
(pair? (delay (cons 1 2))) ⇒ #f
(promise? 5) ⇒ #f
(promise? (delay-force (delay 5))) ⇒ #t
(let ((p (make-promise 3))) (eq? p (make-promise p))) ⇒ #t
(define naturals (let from ((n 0)) (delay (cons n (from (+ n 1)))))) ⇒ 
(let third ((stream naturals) (left 2)) (if (= left 0) (car (force stream)) (third (cdr (force stream)) (- left 1)))) ⇒ 2
(define (count-to s n) (if (= n 0) (force s) (count-to (delay-force s) (- n 1)))) (count-to (delay 'done) 1000) ⇒ done
(define times 0) (define again (delay (begin (set! times (+ times 1)) (if (> times 3) times (force again))))) (force again) ⇒ 4
(begin (set! times 100) (force again)) ⇒ 4
(let* ((effects 0) (p (delay (begin (set! effects (+ effects 1)) effects)))) (force p) (force p) effects) ⇒ 1
; Parameters and the procedures that read them.
(define base (make-parameter 10 (lambda (n) (if (and (exact-integer? n) (<= 2 n 16)) n (error "no base" n))))) ⇒ 
(define (shown n) (number->string n (base))) ⇒ 
(shown 10) ⇒ "10"
(parameterize ((base 2)) (shown 10)) ⇒ "1010"
(shown 10) ⇒ "10"
(parameterize ((base 1)) (shown 10)) ⇒ !raised
(let ((p (make-parameter 1))) (parameterize ((p 2)) (let ((f (lambda () (p)))) (parameterize ((p 3)) (f))))) ⇒ 3
(let ((p (make-parameter 5 (lambda (x) (* x 2))))) (list (p) (parameterize ((p 6)) (p)) (p))) ⇒ (10 12 10)
(base 3) ⇒ !arity
; Bindings of several values.
(let-values (((root rest) (exact-integer-sqrt 40))) (list root rest)) ⇒ (6 4)
(let*-values (((a b) (values 1 2)) ((c) (values (+ a b)))) (list a b c)) ⇒ (1 2 3)
(let-values (((a b) (values 1))) a) ⇒ !arity
(define span (case-lambda ((to) (span 0 to)) ((from to) (if (< from to) (cons from (span (+ from 1) to)) '())))) (list (span 2) (span 2 4)) ⇒ ((0 1) (2 3))
(do ((items '(2 4 6) (cdr items)) (total 0 (+ total (car items)))) ((null? items) total)) ⇒ 12
(let even-odd ((items '(5 8 1 4)) (evens '()) (odds '())) (cond ((null? items) (list evens odds)) ((even? (car items)) (even-odd (cdr items) (cons (car items) evens) odds)) (else (even-odd (cdr items) evens (cons (car items) odds))))) ⇒ ((4 8) (1 5))
(letrec* ((mean (lambda (f g) (f (/ (sum g) n)))) (sum (lambda (g) (apply + (map g '(2 4 8))))) (n 3)) (list (mean (lambda (x) x) (lambda (x) x)) (mean / /))) ⇒ (14/3 24/7)
(guard (e ((assq 'code e) => cdr) ((assq 'name e))) (raise (list (cons 'code 7)))) ⇒ 7
(guard (e ((assq 'code e) => cdr) ((assq 'name e))) (raise (list (cons 'name 8)))) ⇒ (name . 8)

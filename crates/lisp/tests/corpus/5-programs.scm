; Chapter 5: program structure.
(import (scheme base) (scheme write)) ⇒ 
(import (only (scheme base) car cdr)) ⇒ 
(import (rename (scheme base) (car first-of))) (first-of '(1 2)) ⇒ 1
(import (prefix (scheme base) b:)) (b:+ 1 2) ⇒ 3
(import (scheme repl)) ⇒ 
(import (scheme nowhere)) ⇒ !syntax
(import (scheme file)) ⇒ !syntax
(define add3 (lambda (x) (+ x 3))) (add3 3) ⇒ 6
(define first car) (first '(1 2)) ⇒ 1
(define (f . args) args) (f 1 2) ⇒ (1 2)
(define (g a . rest) (list a rest)) (g 1) ⇒ (1 ())
(let ((x 5)) (define foo (lambda (y) (bar x y))) (define bar (lambda (a b) (+ (* a b) a))) (foo (+ x 3))) ⇒ 45
(let () (define a 1) (define b (+ a 1)) (list a b)) ⇒ (1 2)
(let () (define (even? n) (or (= n 0) (odd? (- n 1)))) (define (odd? n) (and (> n 0) (even? (- n 1)))) (even? 101)) ⇒ #f
(let () (define x 1) (set! x 2) (define y x) y) ⇒ 2
(let () (define x 1) (define x 2) x) ⇒ !syntax
(let () (define a b) (define b 1) a) ⇒ !unbound
(let () (define (f) b) (define a (f)) (define b 1) a) ⇒ !unbound
(let () (define (f) (g)) (define x 1) (define (g) (+ x 1)) (f)) ⇒ 2
(let () (define r '()) (define (push x) (set! r (cons x r)) (twice)) (define (twice) (length r)) (push 1) (push 2)) ⇒ 2
(let () (define-values (x y) (exact-integer-sqrt 17)) (list x y)) ⇒ (4 1)
(let () (define-values (x . y) (values 1 2 3)) (list x y)) ⇒ (1 (2 3))
(let () (define-values all (values 1 2 3)) all) ⇒ (1 2 3)
(define-values (x y) (values 1)) ⇒ !arity
(define-values (a b . c) (values 1 2 3 4)) (list a b c) ⇒ (1 2 (3 4))
(define-record-type <pare> (kons x y) pare? (x kar set-kar!) (y kdr)) ⇒ 
(pare? (kons 1 2)) ⇒ #t
(pare? (cons 1 2)) ⇒ #f
(kar (kons 1 2)) ⇒ 1
(kdr (kons 1 2)) ⇒ 2
(let ((k (kons 1 2))) (set-kar! k 3) (kar k)) ⇒ 3
(kar 5) ⇒ !type
(kons 1) ⇒ !arity
(kons 1 2) ⇒ #<pare>
(procedure? kar) ⇒ #t
(define-record-type point (make-point y x) point? (x px) (y py set-py!)) (let ((p (make-point 1 2))) (set-py! p 10) (list (px p) (py p))) ⇒ (2 10)
(define-record-type thing #t thing? (a thing-a)) ⇒ 
(define-record-type <other> (make-other) other? (v other-v set-other-v!)) (let ((o (make-other))) (set-other-v! o 5) (other-v o)) ⇒ 5
(pare? (make-other)) ⇒ #f
(let () (define-record-type local (mk a) local? (a get-a)) (get-a (mk 9))) ⇒ 9
(kar (make-other)) ⇒ !type
(begin (define one 1) (define two 2)) (+ one two) ⇒ 3
(if #t (define z 1)) ⇒ !syntax
(define-library (my stack) (export make-stack push! (rename pop! take!)) (import (scheme base)) (begin (define (make-stack) (list '())) (define (push! s x) (set-car! s (cons x (car s)))) (define (pop! s) (let ((x (caar s))) (set-car! s (cdar s)) x)) (define secret 5))) ⇒ 
secret ⇒ !unbound
(import (my stack)) (let ((s (make-stack))) (push! s 1) (push! s 2) (take! s)) ⇒ 2
(import (prefix (only (my stack) make-stack) st:)) (st:make-stack) ⇒ (())
(import (my missing)) ⇒ !syntax
(define-library (macros) (export unless2) (begin (define (hidden x) (not x)) (define-syntax unless2 (syntax-rules () ((_ c e) (if (hidden c) e 'no)))))) (import (macros)) (unless2 #f 'yes) ⇒ yes
(define-library (broken) (export nothing-here) (begin (define a 1))) ⇒ !syntax
(define (car x) 'mine) (car '(1 2)) ⇒ mine
(map cadr '((1 2) (3 4))) ⇒ (2 4)
(define (reverse x) 'broken) (map (lambda (x) x) '(1 2)) ⇒ (1 2)
(define (uses-later) (filter 1)) (define (filter x) (+ x 1)) (uses-later) ⇒ 2
(set! cdr (lambda (x) 'cdr!)) (cdr 5) ⇒ cdr!
; Any declaration of a library may stand inside cond-expand.
(define-library (chosen) (cond-expand (r7rs (export value)) (else (export nothing))) (import (scheme base)) (begin (define value 7))) (import (chosen)) value ⇒ 7
(define-library (nested chosen) (cond-expand (r7rs (cond-expand (full-unicode (export (rename inner outer)) (import (scheme base)) (begin (define inner 8))))))) (import (nested chosen)) outer ⇒ 8
(define-library (not chosen) (export a) (begin (define a 1)) (cond-expand (nothing (export b)) (else))) (import (only (not chosen) a)) a ⇒ 1
(define-library (wrong) (cond-expand (r7rs (define a 1)))) ⇒ !syntax

; 6.12 Environments and evaluation.
(eval '(* 7 3) (environment '(scheme base))) ⇒ 21
(let ((f (eval '(lambda (f x) (f x x)) (environment '(scheme base))))) (f + 10)) ⇒ 20
(eval '(+ 1 2)) ⇒ 3
(define x 5) ⇒ 
(eval 'x) ⇒ 5
(let ((x 6)) (eval 'x)) ⇒ 5
(eval '(define y 7)) ⇒ 
y ⇒ 7
(eval '(if)) ⇒ !syntax
(guard (e (#t 'caught)) (eval '(if))) ⇒ caught
(guard (e (#t (error-object-kind e))) (eval '(car 1))) ⇒ type
(eval (list 'quote (list 1 2))) ⇒ (1 2)
(eval (list + 1 2)) ⇒ 3
(eval '(begin (define-syntax twice (syntax-rules () ((_ e) (list e e)))) (twice 'a))) ⇒ (a a)
(call/cc (lambda (k) (eval (list k 9)) 'not-reached)) ⇒ 9
(+ 1 (eval '(+ 2 (eval '(+ 3 4))))) ⇒ 10
(eval '(square 6) (environment '(scheme base) '(scheme inexact))) ⇒ 36
(let ((twice (eval '(lambda (f x) (f (f x))) (environment '(scheme base))))) (twice square 3)) ⇒ 81
(eval '(* 2 3) (scheme-report-environment 7)) ⇒ 6
(eval '(if #t 1 2) (null-environment 5)) ⇒ 1

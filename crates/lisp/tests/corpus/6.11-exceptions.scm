; 6.11 Exceptions, 6.12 eval.
(call/cc (lambda (k) (with-exception-handler (lambda (e) (k (list 'caught e))) (lambda () (+ 1 (raise 'oops)))))) ⇒ (caught oops)
(with-exception-handler (lambda (e) 42) (lambda () (+ (raise-continuable 'should-be-a-number) 23))) ⇒ 65
(with-exception-handler (lambda (e) 'ignored) (lambda () (raise 'oops))) ⇒ !raised
(raise 'oops) ⇒ !raised
(raise-continuable 5) ⇒ !raised
(error "message" 1 "two" 'three) ⇒ !raised
(guard (e (#t (list 'caught e))) (raise 'x)) ⇒ (caught x)
(guard (e ((symbol? e) (list 'symbol e)) ((string? e) (list 'string e))) (raise "s")) ⇒ (string "s")
(guard (condition ((assq 'a condition) => cdr) ((assq 'b condition))) (raise (list (cons 'a 42)))) ⇒ 42
(guard (condition ((assq 'a condition) => cdr) ((assq 'b condition))) (raise (list (cons 'b 23)))) ⇒ (b . 23)
(guard (e ((number? e) e)) (raise 'not-a-number)) ⇒ !raised
(guard (e ((number? e) 'outer)) (guard (e ((string? e) 'inner)) (raise 5))) ⇒ outer
(guard (e (else 'else)) (raise 1)) ⇒ else
(guard (e (#f 'never)) 5) ⇒ 5
(guard (e (#t (error-object-message e))) (error "msg" 1 2)) ⇒ "msg"
(guard (e (#t (error-object-irritants e))) (error "msg" 1 2)) ⇒ (1 2)
(guard (e ((error-object? e) 'yes) (else 'no)) (error "x")) ⇒ yes
(guard (e ((error-object? e) 'yes) (else 'no)) (raise 5)) ⇒ no
(guard (e (#t (error-object-kind e))) (car 5)) ⇒ type
(guard (e (#t (error-object-kind e))) (vector-ref #(1) 5)) ⇒ range
(guard (e (#t (error-object-kind e))) (/ 1 0)) ⇒ divide-by-zero
(guard (e (#t (error-object-kind e))) no-such-variable) ⇒ unbound
(guard (e (#t (error-object-kind e))) ((lambda (x) x))) ⇒ arity
(guard (e (#t (error-object-kind e))) (5 5)) ⇒ type
(guard (e (#t (error-object-kind e))) (eval '(if) (interaction-environment))) ⇒ syntax
(guard (e ((read-error? e) 'read)) (read (open-input-string "(1"))) ⇒ read
(guard (e (#t (error-object? e))) (apply car '(1 2))) ⇒ #t
(guard (e ((string? e) e)) (with-exception-handler (lambda (e) (raise "second")) (lambda () (raise 'first)))) ⇒ "second"
(let ((out '())) (guard (e (#t (set! out (cons 'handler out)))) (dynamic-wind (lambda () (set! out (cons 'in out))) (lambda () (raise 'x)) (lambda () (set! out (cons 'out out))))) (reverse out)) ⇒ (in out handler)
(guard (e (#t e)) (guard (e2 ((number? e2) (raise (* e2 2)))) (raise 21))) ⇒ 42
(let loop ((i 0)) (if (< i 1000) (begin (guard (e (#t #f)) (raise i)) (loop (+ i 1))) i)) ⇒ 1000
(with-exception-handler (lambda (e) 10) (lambda () (+ 1 (with-exception-handler (lambda (e) (+ 1 (raise-continuable e))) (lambda () (raise-continuable 'c)))))) ⇒ 12
(guard (e (#t 'caught)) (with-exception-handler (lambda (e) 'returned) (lambda () (error "x")))) ⇒ caught
(guard (e (#t (list e))) (call-with-values (lambda () (raise 1)) list)) ⇒ (1)
(assert (= 1 1)) ⇒ #t
(assert (= 1 2)) ⇒ !raised
(file-error? 5) ⇒ #f
(with-exception-handler 5 (lambda () 1)) ⇒ !raised
(guard (e (#t (call-with-output-string (lambda (p) (display (error-object-message e) p))))) (string-ref "abc" 10)) ⇒ "string-ref: 10 is out of range"
(eval '(* 7 3) (environment '(scheme base))) ⇒ 21
(let ((f (eval '(lambda (f x) (f x x)) (environment '(scheme base))))) (f + 10)) ⇒ 20
(eval '(define from-eval 5) (interaction-environment)) from-eval ⇒ 5
(eval (list '+ 1 2)) ⇒ 3
(+ 1 (eval '(+ 2 3))) ⇒ 6
(eval '(let-syntax ((m (syntax-rules () ((_ x) (* x 2))))) (m 4))) ⇒ 8
(eval 'nothing-there) ⇒ !unbound
(let loop ((i 0)) (if (< i 100) (begin (eval `(+ ,i 1)) (loop (+ i 1))) i)) ⇒ 100
(features) ⇒ (r7rs exact-closed ratios full-unicode attache-lisp)
; Handlers, in their own words.
(call/cc (lambda (k) (with-exception-handler (lambda (e) (display "problem: ") (write e) (k 'stopped)) (lambda () (+ 1 (raise 'trouble)))))) ⇒ problem: troublestopped
(with-exception-handler (lambda (e) (display "seen ") (if (string? e) (display e)) 30) (lambda () (+ (raise-continuable "a number, please ") 12))) ⇒ seen a number, please 42
(guard (e (#t (list 'outer e))) (with-exception-handler (lambda (e) 'returns) (lambda () (+ 1 (raise 'oops))))) ⇒ (outer #<error raised: an exception handler returned>)
(define (checked-length items) (cond ((pair? items) (+ 1 (checked-length (cdr items)))) ((null? items) 0) (else (error "checked-length: not a list" items)))) (checked-length '(1 2)) ⇒ 2
(guard (e ((error-object? e) (cons (error-object-message e) (error-object-irritants e)))) (checked-length '(1 . 2))) ⇒ ("checked-length: not a list" 2)
(error-object? 'a) ⇒ #f
(error-object-message 5) ⇒ !type
(read-error? (guard (e (#t e)) (read (open-input-string "#<")))) ⇒ #t
(read-error? (guard (e (#t e)) (error "x"))) ⇒ #f
(file-error? (guard (e (#t e)) (error "x"))) ⇒ #f
(guard (e ((string? e) 'inner)) (guard (e ((number? e) 'number)) (raise "text"))) ⇒ inner
(guard (e (#f 'never)) (raise-continuable 'nothing)) ⇒ !raised
(with-exception-handler (lambda (e) 7) (lambda () (guard (e2 ((string? e2) 'no)) (+ 1 (raise-continuable 'passes))))) ⇒ 8
(guard (e (#t e)) (raise '())) ⇒ ()
(guard (e ((eq? e 'a) 1) (else => list)) (raise 'b)) ⇒ !syntax

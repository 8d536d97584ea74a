; 4.3 Macros, and what hygiene means.
(let-syntax ((given-that (syntax-rules () ((_ test stmt1 stmt2 ...) (if test (begin stmt1 stmt2 ...)))))) (let ((if #t)) (given-that if (set! if 'now)) if)) ⇒ now
(let ((x 'outer)) (let-syntax ((m (syntax-rules () ((m) x)))) (let ((x 'inner)) (m)))) ⇒ outer
(letrec-syntax ((my-or (syntax-rules () ((my-or) #f) ((my-or e) e) ((my-or e1 e2 ...) (let ((temp e1)) (if temp temp (my-or e2 ...)))))))
  (let ((x #f) (y 7) (temp 8) (let odd?) (if even?)) (my-or x (let temp) (if y) y))) ⇒ 7
(define-syntax be-like-begin (syntax-rules () ((be-like-begin name) (define-syntax name (syntax-rules () ((name expr (... ...)) (begin expr (... ...)))))))) ⇒ 
(be-like-begin sequence) (sequence 1 2 3 4) ⇒ 4
(let ((=> #f)) (cond (#t => 'ok))) ⇒ ok
(let ((else #f)) (cond (else 1) (#t 2))) ⇒ 2
(define-syntax swap! (syntax-rules () ((_ a b) (let ((tmp a)) (set! a b) (set! b tmp))))) ⇒ 
(let ((tmp 1) (other 2)) (swap! tmp other) (list tmp other)) ⇒ (2 1)
(let ((set! 1) (let 2)) (swap! set! let) (list set! let)) ⇒ (2 1)
(define-syntax my-or2 (syntax-rules () ((_ a b) (let ((t a)) (if t t b))))) ⇒ 
(let ((t 5)) (my-or2 #f t)) ⇒ 5
(let ((if list)) (my-or2 #f 3)) ⇒ 3
(define-syntax while (syntax-rules () ((_ c body ...) (let lp () (when c body ... (lp)))))) ⇒ 
(let ((i 0) (lp 'mine)) (while (< i 3) (set! i (+ i 1))) (list i lp)) ⇒ (3 mine)
(define-syntax for (syntax-rules (in) ((_ x in xs body ...) (for-each (lambda (x) body ...) xs)))) ⇒ 
(let ((sum 0)) (for y in '(1 2 3) (set! sum (+ sum y))) sum) ⇒ 6
(let ((in 1)) (for y in '(1 2) y)) ⇒ !syntax
(for y of '(1 2) y) ⇒ !syntax
(define-syntax my-let (syntax-rules () ((_ ((n v) ...) body ...) ((lambda (n ...) body ...) v ...)))) ⇒ 
(my-let ((a 1) (b 2)) (+ a b)) ⇒ 3
(define-syntax my-let* (syntax-rules () ((_ () body ...) (let () body ...)) ((_ (b rest ...) body ...) (let (b) (my-let* (rest ...) body ...))))) ⇒ 
(my-let* ((a 1) (b (+ a 1))) (* a b)) ⇒ 2
(define-syntax nested (syntax-rules () ((_ (a b ...) ...) '((b ... a) ...)))) ⇒ 
(nested (1 2 3) (4) (5 6)) ⇒ ((2 3 1) (4) (6 5))
(define-syntax flat (syntax-rules () ((_ (a ...) ...) '(a ... ...)))) ⇒ 
(flat (1 2) () (3)) ⇒ (1 2 3)
(define-syntax tail-pattern (syntax-rules () ((_ a ... z) '(z a ...)))) ⇒ 
(tail-pattern 1 2 3) ⇒ (3 1 2)
(tail-pattern 1) ⇒ (1)
(define-syntax dotted (syntax-rules () ((_ a . b) '(a b)))) ⇒ 
(dotted 1 2 3) ⇒ (1 (2 3))
(define-syntax mid (syntax-rules () ((_ (a ... b c) . d) '((a ...) b c d)))) ⇒ 
(mid (1 2 3 4) 5 6) ⇒ ((1 2) 3 4 (5 6))
(define-syntax vec (syntax-rules () ((_ #(a b ...)) '(a (b ...))))) ⇒ 
(vec #(1 2 3)) ⇒ (1 (2 3))
(define-syntax to-vec (syntax-rules () ((_ a ...) #(a ... end)))) ⇒ 
(to-vec 1 2) ⇒ #(1 2 end)
(define-syntax custom (syntax-rules ::: () ((_ (a b :::) :::) '((a ...) ::: (b ::: :::))))) ⇒ 
(custom (1 2) (3 4 5)) ⇒ ((1 ...) (3 ...) (2 4 5))
(define-syntax literal-ellipsis (syntax-rules () ((_ a) '(a (... ...))))) ⇒ 
(literal-ellipsis 1) ⇒ (1 ...)
(define-syntax under (syntax-rules () ((_ _ x _) 'x))) ⇒ 
(under 1 2 3) ⇒ 2
(define-syntax lit (syntax-rules () ((_ 1 "s" #\c x) 'x) ((_ . rest) 'no))) ⇒ 
(lit 1 "s" #\c yes) ⇒ yes
(lit 2 "s" #\c yes) ⇒ no
(define-syntax kw (syntax-rules (else) ((_ else) 'else) ((_ x) 'other))) ⇒ 
(kw else) ⇒ else
(let ((else 1)) (kw else)) ⇒ other
(define-syntax ten (syntax-rules () ((_) 10))) (define (f) (ten)) (define-syntax ten (syntax-rules () ((_) 20))) (list (f) (ten)) ⇒ (10 20)
(define-syntax def (syntax-rules () ((_ name value) (define name value)))) (def z 42) z ⇒ 42
(let () (def inner 5) (+ inner 1)) ⇒ 6
(let () (define-syntax local (syntax-rules () ((_ x) (* x 2)))) (local 21)) ⇒ 42
(let ((x 1)) (define-syntax get-x (syntax-rules () ((_) x))) (define y (get-x)) (let ((x 2)) (+ (get-x) y))) ⇒ 2
(define-syntax def2 (syntax-rules () ((_ a b) (begin (define a 1) (define b 2))))) (let () (def2 p q) (+ p q)) ⇒ 3
(define-syntax hidden (syntax-rules () ((_ body) (let () (define tmp 'macro) body)))) (let ((tmp 'user)) (hidden tmp)) ⇒ user
(define-syntax my-if (syntax-rules () ((_ c t e) (cond (c t) (else e))))) ⇒ 
(let ((else #f)) (my-if #f 1 2)) ⇒ 2
(let ((cond list)) (my-if #t 1 2)) ⇒ 1
(define-syntax m1 (syntax-rules () ((_ x) (m2 x)))) (define-syntax m2 (syntax-rules () ((_ x) (+ x 1)))) (m1 5) ⇒ 6
(define-syntax make-getter (syntax-rules () ((_ name value) (define-syntax name (syntax-rules () ((_) value)))))) (make-getter get-five 5) (get-five) ⇒ 5
(define-syntax my-do (syntax-rules () ((_ (v i s) (t r) b ...) (let loop ((v i)) (if t r (begin b ... (loop s))))))) ⇒ 
(let ((loop 0)) (my-do (i 0 (+ i 1)) ((= i 5) loop) (set! loop (+ loop i)))) ⇒ 10
(define-syntax count-args (syntax-rules () ((_) 0) ((_ x . rest) (+ 1 (count-args . rest))))) (count-args a b c d) ⇒ 4
(define-syntax quote-it (syntax-rules () ((_ x) '(x tmp)))) (quote-it y) ⇒ (y tmp)
(eq? (car (cdr (quote-it y))) 'tmp) ⇒ #t
(define-syntax case-id (syntax-rules () ((_ x) (case x ((tmp) 'yes) (else 'no))))) (case-id 'tmp) ⇒ yes
(syntax-error "wrong use" 1 2) ⇒ !syntax
(define-syntax loop-forever (syntax-rules () ((_ x) (syntax-error "no" x)))) (loop-forever 1) ⇒ !syntax
(define-syntax) ⇒ !syntax
(define-syntax foo 5) ⇒ !syntax
(define-syntax bad (syntax-rules () ((_ x ...) x))) (bad 1) ⇒ !syntax
(let-syntax ((foo (syntax-rules () ((_) 1)))) (let-syntax ((foo (syntax-rules () ((_) (+ 1 (foo)))))) (foo))) ⇒ 2
(define-syntax my-if2 if) (my-if2 #t 1 2) ⇒ 1
(let ((x 1)) (let-syntax ((inc! (syntax-rules () ((_ v) (set! v (+ v 1)))))) (inc! x) (inc! x) x)) ⇒ 3
(define-syntax my-cond (syntax-rules (else) ((_ (else e)) e) ((_ (c e) clause ...) (if c e (my-cond clause ...))))) (my-cond (#f 1) (#f 2) (else 3)) ⇒ 3
(define-syntax jabberwocky (syntax-rules () ((_ hatter) (begin (define march-hare 42) (define-syntax hatter (syntax-rules () ((_) march-hare))))))) (jabberwocky mad-hatter) (mad-hatter) ⇒ 42
(define-syntax alist (syntax-rules () ((_ (k v) ...) (list (cons 'k v) ...)))) (alist (a 1) (b 2)) ⇒ ((a . 1) (b . 2))
(define-syntax two-lists (syntax-rules () ((_ (a ...) (b ...)) '((a b) ...)))) (two-lists (1 2) (3 4)) ⇒ ((1 3) (2 4))
(define-syntax outer-in-inner (syntax-rules () ((_ x (y ...)) '((x y) ...)))) (outer-in-inner 0 (1 2 3)) ⇒ ((0 1) (0 2) (0 3))
; The ellipsis as a literal: it then stands for itself.
(define-syntax dots (syntax-rules (...) ((_ ...) 'dots) ((_ x) 'other))) (list (dots ...) (dots 1)) ⇒ (dots other)
(define-syntax chosen-dots (syntax-rules ... (...) ((_ x) '(x ...)))) (chosen-dots 5) ⇒ (5 ...)
(define-syntax chosen-and-literal (syntax-rules ::: (:::) ((_ x :::) '(x :::)) ((_ x) 'one))) (list (chosen-and-literal 1 :::) (chosen-and-literal 1)) ⇒ ((1 :::) one)
(define-syntax literal-underscore (syntax-rules (_) ((m _) 'underscore) ((m x) 'other))) (list (literal-underscore _) (literal-underscore 1)) ⇒ (underscore other)
(define-syntax drop-rest (syntax-rules () ((_ a _ ...) '(a)))) (drop-rest 1 2 3) ⇒ (1)
(define-syntax drop-each (syntax-rules () ((_ (a _) ...) '(a ...)))) (drop-each (1 2) (3 4)) ⇒ (1 3)
; More of hygiene: a keyword means what it meant where the macro was written.
(let-syntax ((provided (syntax-rules () ((_ test act ...) (if test (begin act ...)))))) (let ((if 'mine)) (provided #t (set! if 'set)) if)) ⇒ set
(let ((v 'outside)) (let-syntax ((get (syntax-rules () ((_) v)))) (let ((v 'inside)) (list v (get))))) ⇒ (inside outside)
(letrec-syntax ((first-true (syntax-rules () ((_) #f) ((_ e) e) ((_ e more ...) (let ((held e)) (if held held (first-true more ...))))))) (let ((a #f) (held 8) (let even?) (if odd?)) (first-true a (let held) (if 9)))) ⇒ #t
(let ((=> #f)) (cond (#t => 'no-arrow))) ⇒ no-arrow
(define-syntax simple-let (syntax-rules () ((_ (head ... ((x . y) val) . tail) body ...) (syntax-error "expected an identifier but got" (x . y))) ((_ ((name val) ...) body ...) ((lambda (name ...) body ...) val ...)))) (simple-let ((a 1) (b 2)) (+ a b)) ⇒ 3
(simple-let ((a 1) ((b c) 2)) a) ⇒ !syntax
(define-syntax make-sequence (syntax-rules () ((_ name) (define-syntax name (syntax-rules () ((_ e (... ...)) (list e (... ...)))))))) (make-sequence gather) (gather 1 2 3) ⇒ (1 2 3)

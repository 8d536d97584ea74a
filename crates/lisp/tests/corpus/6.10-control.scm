; 6.10 Control features.
(procedure? car) ⇒ #t
(procedure? 'car) ⇒ #f
(procedure? (lambda (x) (* x x))) ⇒ #t
(call-with-current-continuation procedure?) ⇒ #t
(apply + (list 3 4)) ⇒ 7
(apply + 1 2 '(3)) ⇒ 6
(apply list '()) ⇒ ()
(apply (lambda (a . b) (list a b)) 1 2 '(3 4)) ⇒ (1 (2 3 4))
(define compose (lambda (f g) (lambda args (f (apply g args))))) ((compose sqrt *) 12 75) ⇒ 30
(apply + 1) ⇒ !type
(apply apply (list + (list 1 2))) ⇒ 3
(map cadr '((a b) (d e) (g h))) ⇒ (b e h)
(map + '(1 2 3) '(4 5 6)) ⇒ (5 7 9)
(map + '(1 2 3) '(4 5)) ⇒ (5 7)
(map (lambda (x y z) (list x y z)) '(1) '(2) '(3)) ⇒ ((1 2 3))
(map car 5) ⇒ ()
(let ((v (make-vector 5))) (for-each (lambda (i) (vector-set! v i (* i i))) '(0 1 2 3 4)) v) ⇒ #(0 1 4 9 16)
(let ((n 0)) (for-each (lambda (a b) (set! n (+ n (* a b)))) '(1 2) '(3 4)) n) ⇒ 11
(call/cc (lambda (exit) (for-each (lambda (x) (if (negative? x) (exit x))) '(54 0 37 -3 245 19)) #t)) ⇒ -3
(define list-length (lambda (obj) (call/cc (lambda (return) (letrec ((r (lambda (obj) (cond ((null? obj) 0) ((pair? obj) (+ (r (cdr obj)) 1)) (else (return #f)))))) (r obj)))))) ⇒ 
(list-length '(1 2 3 4)) ⇒ 4
(list-length '(a b . c)) ⇒ #f
(+ 1 (call/cc (lambda (k) (+ 10 (k 1))))) ⇒ 2
(call/cc (lambda (k) (call/cc (lambda (j) (k 5))) 6)) ⇒ 5
(define k2 #f) (define n 0) (+ 1 (call/cc (lambda (k) (set! k2 k) 1))) ⇒ 2
(k2 5) ⇒ 6
(+ 100 (k2 7)) ⇒ 8
(let ((count 0) (saved #f)) (call/cc (lambda (k) (set! saved k))) (set! count (+ count 1)) (if (< count 5) (saved #f)) count) ⇒ 5
(define r '()) (define kk #f) (call/cc (lambda (k) (set! kk k))) (set! r (cons (length r) r)) (if (< (length r) 3) (kk #f)) r ⇒ (2 1 0)
(let* ((path '()) (add (lambda (s) (set! path (cons s path))))) (dynamic-wind (lambda () (add 'in)) (lambda () (add 'during)) (lambda () (add 'out))) (reverse path)) ⇒ (in during out)
(let ((path '()) (c #f)) (let ((add (lambda (s) (set! path (cons s path))))) (dynamic-wind (lambda () (add 'connect)) (lambda () (add (call/cc (lambda (c0) (set! c c0) 'talk1)))) (lambda () (add 'disconnect))) (if (< (length path) 4) (c 'talk2) (reverse path)))) ⇒ (connect talk1 disconnect connect talk2 disconnect)
(let ((out '())) (define (note x) (set! out (cons x out))) (call/cc (lambda (k) (dynamic-wind (lambda () (note 'a)) (lambda () (dynamic-wind (lambda () (note 'b)) (lambda () (k 1)) (lambda () (note 'c)))) (lambda () (note 'd))))) (reverse out)) ⇒ (a b c d)
(let ((out '()) (k1 #f) (k2 #f) (n 0)) (define (note x) (set! out (cons x out))) (dynamic-wind (lambda () (note 'in1)) (lambda () (call/cc (lambda (k) (set! k1 k)))) (lambda () (note 'out1))) (set! n (+ n 1)) (if (= n 1) (dynamic-wind (lambda () (note 'in2)) (lambda () (k1 #f)) (lambda () (note 'out2)))) (reverse out)) ⇒ (in1 out1 in2 out2 in1 out1)
(call-with-values (lambda () (values 4 5)) (lambda (a b) b)) ⇒ 5
(call-with-values * -) ⇒ -1
(call-with-values (lambda () 1) list) ⇒ (1)
(call-with-values values list) ⇒ ()
(call-with-values (lambda () (values 1 2)) (lambda (a) a)) ⇒ !arity
(values 1) ⇒ 1
(call/cc (lambda (k) (call-with-values (lambda () (k 1)) list))) ⇒ 1
(call-with-values (lambda () (call/cc (lambda (k) (k 1 2 3)))) list) ⇒ (1 2 3)
(define (make-generator lst) (define return #f) (define (gen) (call/cc (lambda (r) (set! return r) (for-each (lambda (x) (call/cc (lambda (next) (set! gen (lambda () (next #f))) (return x)))) lst) (return 'done)))) (lambda () (call/cc (lambda (r) (set! return r) (gen))))) ⇒ 
(let* ((g (make-generator '(1 2 3))) (a (g)) (b (g)) (c (g)) (d (g))) (list a b c d)) ⇒ (1 2 3 done)
(let ((k* #f) (y* 1)) (set! y* (* (call/cc (lambda (k) (set! k* k) 3)) y*)) (if (< y* 20) (k* 3) y*)) ⇒ 27
(let ((x 0) (k #f)) (set! x (+ x (call/cc (lambda (c) (set! k c) 1)))) (if (< x 3) (k (+ x 1)) x)) ⇒ 3
(define (tree-walk tree) (call/cc (lambda (return) (let walk ((t tree)) (cond ((null? t) #f) ((pair? t) (walk (car t)) (walk (cdr t))) ((even? t) (return t)))) 'none))) (list (tree-walk '(1 (3 4) 5)) (tree-walk '(1 3))) ⇒ (4 none)
(let loop ((i 0)) (if (< i 1000000) (loop (+ i 1)) i)) ⇒ 1000000
(define (even2? n) (if (= n 0) #t (odd2? (- n 1)))) (define (odd2? n) (if (= n 0) #f (even2? (- n 1)))) (even2? 1000000) ⇒ #t
(define (count-down n) (cond ((= n 0) 'done) (else (count-down (- n 1))))) (count-down 1000000) ⇒ done
(define (tail-and n) (and #t (if (= n 0) 'ok (tail-and (- n 1))))) (tail-and 300000) ⇒ ok
(define (tail-or n) (or #f (if (= n 0) 'ok (tail-or (- n 1))))) (tail-or 300000) ⇒ ok
(define (tail-apply n) (if (= n 0) 'ok (apply tail-apply (list (- n 1))))) (tail-apply 300000) ⇒ ok
(define (tail-values n) (if (= n 0) 'ok (call-with-values (lambda () (- n 1)) tail-values))) (tail-values 300000) ⇒ ok
(define (tail-cc n) (if (= n 0) 'ok (call/cc (lambda (k) (tail-cc (- n 1)))))) (tail-cc 300000) ⇒ ok
(define (tail-case n) (case n ((0) 'ok) (else (tail-case (- n 1))))) (tail-case 300000) ⇒ ok
(define (tail-when n) (when #t (unless #f (let* ((m (- n 1))) (letrec ((x 1)) (if (< m 0) 'ok (tail-when m))))))) (tail-when 200000) ⇒ ok
(define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1))))) (deep 50000) ⇒ 50000
(map (lambda (x) (* x x)) (iota 5)) ⇒ (0 1 4 9 16)
(length (map (lambda (x) x) (iota 100000))) ⇒ 100000
(let ((k #f) (count 0)) (let ((result (map (lambda (x) (call/cc (lambda (c) (if (= x 2) (set! k c)) x))) '(1 2 3)))) (set! count (+ count 1)) (if (= count 1) (k 20) result))) ⇒ (1 20 3)
(define (down n) (if (= n 0) (call/cc (lambda (k) (set! k2 k) 0)) (+ 1 (down (- n 1))))) (down 1000) ⇒ 1000
(let ((n 0)) (let ((v (down 500))) (set! n (+ n 1)) (if (< n 3) (k2 n) (list n v)))) ⇒ (3 502)
; Procedures of procedures.
(apply +) ⇒ !arity
(apply) ⇒ !arity
(apply + '()) ⇒ 0
(apply max 3 '(9 4)) ⇒ 9
(procedure? '(lambda (x) x)) ⇒ #f
(procedure? (make-parameter 1)) ⇒ #t
((compose square +) 3 4) ⇒ 49
(map cdr '((p . 1) (q . 2))) ⇒ (1 2)
(map (lambda (n) (expt n n)) '(1 2 3 4)) ⇒ (1 4 27 256)
(map * '(2 3) '(4 5)) ⇒ (8 15)
(let ((n 0)) (list-sort < (map (lambda (ignored) (set! n (+ n 1)) n) '(a b c)))) ⇒ (1 2 3)
(map + '(1 2 3) '#6=(10 20 . #6#)) ⇒ (11 22 13)
(let ((v (make-vector 3 0))) (for-each (lambda (i x) (vector-set! v i x)) '(2 0 1) '(p q r)) v) ⇒ #(q r p)
(call/cc (lambda (leave) (for-each (lambda (n) (if (odd? n) (leave n))) '(2 4 5 6)) 'none)) ⇒ 5
(call/cc procedure?) ⇒ #t
(call-with-values (lambda () (values 2 3)) *) ⇒ 6
(call-with-values + list) ⇒ (0)
(call-with-values (lambda () (values)) list) ⇒ ()
(begin (values 1 2) 'after) ⇒ after
(dynamic-wind (lambda () (display "[")) (lambda () (display "body") 'value) (lambda () (display "]"))) ⇒ [body]value
(let ((trace '())) (let ((again #f)) (define (note x) (set! trace (cons x trace))) (dynamic-wind (lambda () (note 'open)) (lambda () (note (call/cc (lambda (k) (set! again k) 'first)))) (lambda () (note 'shut))) (if (< (length trace) 5) (again 'second) (reverse trace)))) ⇒ (open first shut open second shut)
(call-with-values (lambda () (dynamic-wind void (lambda () (values 1 2)) void)) cons) ⇒ (1 . 2)

; 6.3 Booleans, 6.4 pairs and lists, 6.5 symbols.
(not 3) ⇒ #f
(not #f) ⇒ #t
(not '()) ⇒ #f
(boolean? #f) ⇒ #t
(boolean? 0) ⇒ #f
(boolean=? #t #t #t) ⇒ #t
(boolean=? #t 1) ⇒ !type
(pair? '(a . b)) ⇒ #t
(pair? '()) ⇒ #f
(pair? '#(a b)) ⇒ #f
(cons 'a '()) ⇒ (a)
(cons '(a) '(b c d)) ⇒ ((a) b c d)
(cons 'a 3) ⇒ (a . 3)
(car '(a b c)) ⇒ a
(car '()) ⇒ !type
(cdr '((a) b c d)) ⇒ (b c d)
(cdr '()) ⇒ !type
(let ((x (list 1 2))) (set-car! x 5) (set-cdr! (cdr x) '(9)) x) ⇒ (5 2 9)
(set-car! '() 1) ⇒ !type
(cadr '(1 2 3)) ⇒ 2
(cddr '(1 2 3)) ⇒ (3)
(caddr '(1 2 3)) ⇒ 3
(cadddr '(1 2 3 4)) ⇒ 4
(caar '((1) 2)) ⇒ 1
(cdar '((1 5) 2)) ⇒ (5)
(cadr '(1)) ⇒ !type
(null? '()) ⇒ #t
(null? '(1)) ⇒ #f
(list? '(a b c)) ⇒ #t
(list? '(a . b)) ⇒ #f
(let ((x (list 'a))) (set-cdr! x x) (list? x)) ⇒ #f
(make-list 2 3) ⇒ (3 3)
(make-list 0) ⇒ ()
(list 'a (+ 3 4) 'c) ⇒ (a 7 c)
(list) ⇒ ()
(length '(a b c)) ⇒ 3
(length '(a (b) (c d e))) ⇒ 3
(length '()) ⇒ 0
(length '(a . b)) ⇒ !type
(append '(x) '(y)) ⇒ (x y)
(append '(a) '(b c d)) ⇒ (a b c d)
(append '(a (b)) '((c))) ⇒ (a (b) (c))
(append '(a b) '(c . d)) ⇒ (a b c . d)
(append '() 'a) ⇒ a
(append) ⇒ ()
(append '(1) '(2) '(3 4) '()) ⇒ (1 2 3 4)
(append 1 '(2)) ⇒ !type
(reverse '(a b c)) ⇒ (c b a)
(reverse '(a (b c) d (e (f)))) ⇒ ((e (f)) d (b c) a)
(reverse 'a) ⇒ !type
(list-tail '(a b c d) 2) ⇒ (c d)
(list-tail '(a) 3) ⇒ !range
(list-ref '(a b c d) 2) ⇒ c
(list-ref '(a b) 2) ⇒ !range
(list-ref '(a b) -1) ⇒ !range
(let ((ls (list 'one 'two 'five!))) (list-set! ls 2 'three) ls) ⇒ (one two three)
(memq 'c '(a b c d e)) ⇒ (c d e)
(memq 'z '(a b)) ⇒ #f
(memq (list 'a) '(b (a) c)) ⇒ #f
(member (list 'a) '(b (a) c)) ⇒ ((a) c)
(member "B" '("a" "b" "c") string-ci=?) ⇒ ("b" "c")
(memv 101 '(100 101 102)) ⇒ (101 102)
(member 2.0 '(1 2 3) =) ⇒ (2 3)
(assq 'b '((a 1) (b 2))) ⇒ (b 2)
(assq 'd '((a 1))) ⇒ #f
(assv 5 '((2 3) (5 7) (11 13))) ⇒ (5 7)
(assoc (list 'a) '(((a)) ((b)) ((c)))) ⇒ ((a))
(assoc 2.0 '((1 one) (2 two) (3 three)) =) ⇒ (2 two)
(assq 'a '(1)) ⇒ !type
(list-copy '(1 2 3)) ⇒ (1 2 3)
(let* ((a (list 1 2)) (b (list-copy a))) (set-car! b 9) a) ⇒ (1 2)
(list-copy 5) ⇒ 5
(cons* 1 2 '(3 4)) ⇒ (1 2 3 4)
(iota 5) ⇒ (0 1 2 3 4)
(iota 3 1) ⇒ (1 2 3)
(iota 3 0 1/2) ⇒ (0 1/2 1)
(last '(1 2 3)) ⇒ 3
(last-pair '(1 2 . 3)) ⇒ (2 . 3)
(fold + 0 '(1 2 3)) ⇒ 6
(fold cons '() '(1 2 3)) ⇒ (3 2 1)
(fold cons* '() '(a b) '(1 2)) ⇒ (b 2 a 1)
(fold-left list '() '(1 2 3)) ⇒ (((() 1) 2) 3)
(fold-right cons '() '(1 2 3)) ⇒ (1 2 3)
(fold-right list 'z '(1 2)) ⇒ (1 (2 z))
(reduce + 0 '(1 2 3 4)) ⇒ 10
(reduce + 0 '()) ⇒ 0
(reduce max 0 '(3 9 2)) ⇒ 9
(filter odd? '(1 2 3 4 5)) ⇒ (1 3 5)
(remove odd? '(1 2 3 4 5)) ⇒ (2 4)
(call-with-values (lambda () (partition odd? '(1 2 3))) list) ⇒ ((1 3) (2))
(delete 2 '(1 2 3 2)) ⇒ (1 3)
(delete-duplicates '(1 2 1 3 2)) ⇒ (1 2 3)
(find even? '(1 2 3)) ⇒ 2
(find even? '(1 3)) ⇒ #f
(find-tail even? '(1 2 3)) ⇒ (2 3)
(list-index even? '(1 3 4)) ⇒ 2
(any odd? '(2 4 5)) ⇒ #t
(any + '(1) '(2)) ⇒ 3
(every odd? '(1 3)) ⇒ #t
(every odd? '()) ⇒ #t
(count odd? '(1 2 3)) ⇒ 2
(take '(1 2 3) 2) ⇒ (1 2)
(drop '(1 2 3) 2) ⇒ (3)
(append-map (lambda (x) (list x x)) '(1 2)) ⇒ (1 1 2 2)
(filter-map (lambda (x) (and (odd? x) (* x x))) '(1 2 3)) ⇒ (1 9)
(list-tabulate 4 (lambda (i) (* i i))) ⇒ (0 1 4 9)
(sort '(3 1 2) <) ⇒ (1 2 3)
(sort (vector 3 1 2) <) ⇒ #(1 2 3)
(list-sort > '(1 3 2)) ⇒ (3 2 1)
(sort '("b" "a") string<?) ⇒ ("a" "b")
(sort '((1 . a) (0 . b) (1 . c) (0 . d)) (lambda (x y) (< (car x) (car y)))) ⇒ ((0 . b) (0 . d) (1 . a) (1 . c))
(sort '() <) ⇒ ()
(symbol? 'foo) ⇒ #t
(symbol? "bar") ⇒ #f
(symbol? '()) ⇒ #f
(symbol=? 'a 'a 'a) ⇒ #t
(symbol->string 'flying-fish) ⇒ "flying-fish"
(string->symbol "mISSISSIppi") ⇒ mISSISSIppi
(string->symbol "hello world") ⇒ |hello world|
(eq? 'bitBlt (string->symbol "bitBlt")) ⇒ #t
(symbol-append 'foo 'bar) ⇒ foobar
(symbol->string 5) ⇒ !type
; One list, changed step by step.
(define x (list 'p 'q 'r)) (define y x) y ⇒ (p q r)
(list? y) ⇒ #t
(set-cdr! x 9) x ⇒ (p . 9)
(eqv? x y) ⇒ #t
y ⇒ (p . 9)
(list? y) ⇒ #f
(begin (set-cdr! x x) (list? x)) ⇒ #f
(pair? '(p q)) ⇒ #t
(cons 'p '(q)) ⇒ (p q)
(cons '(p) '(q r)) ⇒ ((p) q r)
(cons "s" '(q)) ⇒ ("s" q)
(cons 'p 4) ⇒ (p . 4)
(cons '(p q) 'r) ⇒ ((p q) . r)
(car '((p) q)) ⇒ (p)
(car '(1 . 2)) ⇒ 1
(cdr '(1 . 2)) ⇒ 2
(define (fresh) (list 'not 'constant)) (let ((l (fresh))) (set-car! l 'now) (list l (fresh))) ⇒ ((now constant) (not constant))
(list (caaar '(((1)))) (cdddr '(1 2 3 4)) (caddar '((1 2 3))) (cddadr '(1 (2 3 4)))) ⇒ (1 (4) 3 (4))
(null? '(1)) ⇒ #f
(null? 'nil) ⇒ #f
(list? '()) ⇒ #t
(make-list 3 'p) ⇒ (p p p)
(length (make-list 4)) ⇒ 4
(length '#5=(1 . #5#)) ⇒ !type
(reverse '#5=(1 . #5#)) ⇒ !type
(append '#5=(1 . #5#) '(2)) ⇒ !type
(apply + '#5=(1 . #5#)) ⇒ !type
(append '(p) '(q r s)) ⇒ (p q r s)
(append '(p (q)) '((r))) ⇒ (p (q) (r))
(append '(p q) '(r . s)) ⇒ (p q r . s)
(append '() 5) ⇒ 5
(let* ((tail (list 3 4)) (all (append (list 1 2) tail))) (eq? tail (list-tail all 2))) ⇒ #t
(reverse '(p (q r) s)) ⇒ (s (q r) p)
(list-tail '(p q r) 0) ⇒ (p q r)
(list-ref '(p q r) (exact (round 1.8))) ⇒ r
(let ((l (list 1 2 3))) (list-set! l 1 'two) l) ⇒ (1 two 3)
(list-set! (list 1) 1 2) ⇒ !range
(memq 'p '(p q)) ⇒ (p q)
(memq 'r '(p q)) ⇒ #f
(memq (list 'p) '((p))) ⇒ #f
(member (list 'p) '(q (p) r)) ⇒ ((p) r)
(memv 3/2 '(1 3/2 2)) ⇒ (3/2 2)
(member 2.5 '(1 2 3) <) ⇒ (3)
(define pairs '((p 1) (q 2) (r 3))) (list (assq 'p pairs) (assq 'r pairs) (assq 's pairs)) ⇒ ((p 1) (r 3) #f)
(assq (list 'p) '(((p)) ((q)))) ⇒ #f
(assoc (list 'p) '(((p)) ((q)))) ⇒ ((p))
(assv 7 '((5 a) (7 b))) ⇒ (7 b)
(assoc 2.0 '((1 a) (2 b)) =) ⇒ (2 b)
(let* ((a '(1 2 3)) (b (list-copy a))) (set-car! b 9) (list a b)) ⇒ ((1 2 3) (9 2 3))
(list-copy '(1 2 . 3)) ⇒ (1 2 . 3)
; Every path of three and four steps: the mark is where the name leads.
(caaar '(((mark . 1) . 2) . 3)) ⇒ mark
(caadr '(3 . ((mark . 1) . 2))) ⇒ mark
(cadar '((2 . (mark . 1)) . 3)) ⇒ mark
(caddr '(3 . (2 . (mark . 1)))) ⇒ mark
(cdaar '(((1 . mark) . 2) . 3)) ⇒ mark
(cdadr '(3 . ((1 . mark) . 2))) ⇒ mark
(cddar '((2 . (1 . mark)) . 3)) ⇒ mark
(cdddr '(3 . (2 . (1 . mark)))) ⇒ mark
(caaaar '((((mark . 1) . 2) . 3) . 4)) ⇒ mark
(caaadr '(4 . (((mark . 1) . 2) . 3))) ⇒ mark
(caadar '((3 . ((mark . 1) . 2)) . 4)) ⇒ mark
(caaddr '(4 . (3 . ((mark . 1) . 2)))) ⇒ mark
(cadaar '(((2 . (mark . 1)) . 3) . 4)) ⇒ mark
(cadadr '(4 . ((2 . (mark . 1)) . 3))) ⇒ mark
(caddar '((3 . (2 . (mark . 1))) . 4)) ⇒ mark
(cadddr '(4 . (3 . (2 . (mark . 1))))) ⇒ mark
(cdaaar '((((1 . mark) . 2) . 3) . 4)) ⇒ mark
(cdaadr '(4 . (((1 . mark) . 2) . 3))) ⇒ mark
(cdadar '((3 . ((1 . mark) . 2)) . 4)) ⇒ mark
(cdaddr '(4 . (3 . ((1 . mark) . 2)))) ⇒ mark
(cddaar '(((2 . (1 . mark)) . 3) . 4)) ⇒ mark
(cddadr '(4 . ((2 . (1 . mark)) . 3))) ⇒ mark
(cdddar '((3 . (2 . (1 . mark))) . 4)) ⇒ mark
(cddddr '(4 . (3 . (2 . (1 . mark))))) ⇒ mark

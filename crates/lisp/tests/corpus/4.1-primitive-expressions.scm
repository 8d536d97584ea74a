; 4.1 Primitive expression types.
(define x 28) ⇒ 
x ⇒ 28
nowhere ⇒ !unbound
(quote a) ⇒ a
(quote #(a b c)) ⇒ #(a b c)
'() ⇒ ()
'"abc" ⇒ "abc"
(+ 3 4) ⇒ 7
((if #f + *) 3 4) ⇒ 12
() ⇒ !syntax
(5 3) ⇒ !type
((lambda (x) (+ x x)) 4) ⇒ 8
(define reverse-subtract (lambda (x y) (- y x))) ⇒ 
(reverse-subtract 7 10) ⇒ 3
(define add4 (let ((x 4)) (lambda (y) (+ x y)))) ⇒ 
(add4 6) ⇒ 10
((lambda x x) 3 4 5 6) ⇒ (3 4 5 6)
((lambda (x y . z) z) 3 4 5 6) ⇒ (5 6)
((lambda (x y . z) z) 3 4) ⇒ ()
((lambda (x) x)) ⇒ !arity
((lambda (x y . z) z) 3) ⇒ !arity
(lambda (x x) x) ⇒ !syntax
(lambda (1) 1) ⇒ !syntax
(lambda (x)) ⇒ !syntax
(if (> 3 2) 'yes 'no) ⇒ yes
(if (> 2 3) 'yes 'no) ⇒ no
(if #f #f) ⇒ 
(if) ⇒ !syntax
(if 1 2 3 4) ⇒ !syntax
(if '() 1 2) ⇒ 1
(if 0 1 2) ⇒ 1
(define y 2) ⇒ 
(set! y 4) ⇒ 
(+ y 1) ⇒ 5
(set! undefined-variable 1) ⇒ !unbound
(set! 5 1) ⇒ !syntax
(let ((x 1)) (set! x (+ x 1)) x) ⇒ 2
(car) ⇒ !arity
(cons 1) ⇒ !arity
(cons 1 2 3) ⇒ !arity
if ⇒ !syntax
(let ((f (lambda (a) (lambda (b) (lambda (c) (list a b c)))))) (((f 1) 2) 3)) ⇒ (1 2 3)
(let* ((n 0) (inc (lambda () (set! n (+ n 1)) n))) (inc) (inc) n) ⇒ 2
(define (many a b c d e f g h) (list h g f e d c b a)) (many 1 2 3 4 5 6 7 8) ⇒ (8 7 6 5 4 3 2 1)
(let ((k 5)) (define (f) (define (g) k) g) ((f))) ⇒ 5
; Constants are themselves, quoted or not.
'145 ⇒ 145
145 ⇒ 145
'"xyz" ⇒ "xyz"
"xyz" ⇒ "xyz"
'#\z ⇒ #\z
'#(p 10) ⇒ #(p 10)
#(p 10) ⇒ #(p 10)
'#u8(64 65) ⇒ #u8(64 65)
'#t ⇒ #t
'(+ 5 6) ⇒ (+ 5 6)
(quote (+ 5 6)) ⇒ (+ 5 6)
''b ⇒ 'b
(car ''b) ⇒ quote
(if (> 5 4) (- 5 4) (+ 5 4)) ⇒ 1
((lambda (a b #!fold-case . REST) rest) 1 2 3) ⇒ (3)
(include "file.scm") ⇒ !unbound
(begin (define counted 0) (set! counted (+ counted 41)) (+ counted 1)) ⇒ 42

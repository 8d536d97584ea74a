; 6.13 Input and output.
(display "hello") ⇒ hello
(write "hello") ⇒ "hello"
(write #\a) ⇒ #\a
(display #\a) ⇒ a
(display '("a" #\b c)) ⇒ (a b c)
(write '("a" #\b c)) ⇒ ("a" #\b c)
(begin (write-string "abc") (write-char #\d) (write-string "xyz" (current-output-port) 1) 'end) ⇒ abcdyzend
(with-output-to-string (lambda () (display "a") (newline) (write "b"))) ⇒ "a\n\"b\""
(call-with-output-string (lambda (port) (write 'x port) (display " " port) (write 1.5 port))) ⇒ "x 1.5"
(parameterize ((current-output-port (open-output-string))) (display "lost") 'kept) ⇒ kept
(let ((p (open-output-string))) (parameterize ((current-output-port p)) (display "one") (display 2)) (get-output-string p)) ⇒ "one2"
(read (open-input-string "(a . b) c")) ⇒ (a . b)
(let ((p (open-input-string "1 (2 3) \"four\""))) (let* ((a (read p)) (b (read p)) (c (read p)) (d (read p))) (list a b c (eof-object? d)))) ⇒ (1 (2 3) "four" #t)
(let ((p (open-input-string "ab"))) (let* ((a (peek-char p)) (b (read-char p)) (c (read-char p)) (d (read-char p))) (list a b c (eof-object? d)))) ⇒ (#\a #\a #\b #t)
(let ((p (open-input-string "one\ntwo"))) (let* ((a (read-line p)) (b (read-line p)) (c (read-line p))) (list a b (eof-object? c)))) ⇒ ("one" "two" #t)
(read-line (open-input-string "\nx")) ⇒ ""
(read-string 3 (open-input-string "abcdef")) ⇒ "abc"
(eof-object? (read-string 3 (open-input-string ""))) ⇒ #t
(eof-object) ⇒ #<eof>
(eof-object? (read (open-input-string ""))) ⇒ #t
(eof-object? (read-char (open-input-string ""))) ⇒ #t
(read-char) ⇒ #<eof>
(let ((p (open-input-bytevector #u8(1 2 3)))) (let* ((a (read-u8 p)) (b (peek-u8 p)) (c (read-bytevector 5 p))) (list a b c (eof-object? (read-u8 p))))) ⇒ (1 2 #u8(2 3) #t)
(let ((p (open-output-bytevector))) (write-u8 7 p) (write-bytevector #u8(1 2 3) p 1) (get-output-bytevector p)) ⇒ #u8(7 2 3)
(input-port? (open-input-string "")) ⇒ #t
(output-port? (current-output-port)) ⇒ #t
(textual-port? (open-input-string "")) ⇒ #t
(binary-port? (open-input-bytevector #u8())) ⇒ #t
(port? 5) ⇒ #f
(let ((p (open-input-string "x"))) (close-port p) (input-port-open? p)) ⇒ #f
(let ((p (open-input-string "x"))) (close-port p) (read-char p)) ⇒ !type
(let ((p (open-output-string))) (close-output-port p) (write 1 p)) ⇒ !type
(call-with-port (open-input-string "z") read) ⇒ z
(read-char 5) ⇒ !type
(display 1 2) ⇒ !type
(read (open-input-string ")")) ⇒ !read
(char-ready? (open-input-string "x")) ⇒ #t
(let ((x (list 1 2))) (set-cdr! (cdr x) x) (write x)) ⇒ #0=(1 2 . #0#)
(let ((x (list 1 2))) (set-car! x x) (display x)) ⇒ #0=(#0# 2)
(let ((v (vector 1 2))) (vector-set! v 0 v) (write v)) ⇒ #0=#(#0# 2)
(let ((x (list 1))) (write (list x x))) ⇒ ((1) (1))
(let ((x (list 1))) (write-shared (list x x))) ⇒ (#0=(1) #0#)
(let ((x (list 1))) (write-simple (list x x))) ⇒ ((1) (1))
(let* ((a (list 1)) (b (list a))) (set-cdr! a b) (write a)) ⇒ #0=(1 #0#)
(write '|a b|) ⇒ |a b|
(display '|a b|) ⇒ a b
(write (string->symbol "")) ⇒ ||
(write "\a\b\x7f;") ⇒ "\a\b\x7f;"
(write '(quote x)) ⇒ 'x
(write ''()) ⇒ '()
(write '(quote x y)) ⇒ (quote x y)
(write car) ⇒ #<procedure>
(write (if #f #f)) ⇒ #<unspecified>
(write (delay 1)) ⇒ #<promise>
(write 1/3) ⇒ 1/3
(write (make-parameter 1)) ⇒ #<parameter>
(call/cc write) ⇒ #<continuation>
(write (guard (e (#t e)) (error "bad" 1))) ⇒ #<error raised: bad>
(write #t) ⇒ #t
(write '#(a #(b) "c")) ⇒ #(a #(b) "c")
(flush-output-port) ⇒ 

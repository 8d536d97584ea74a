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
; The current input is a parameter, and every procedure that reads asks it.
(parameterize ((current-input-port (open-input-string "abc"))) (let* ((a (read-char)) (b (peek-char)) (c (read-char))) (list a b c))) ⇒ (#\a #\b #\b)
(parameterize ((current-input-port (open-input-string "(x y) z"))) (let* ((a (read)) (b (read))) (list a b (eof-object? (read))))) ⇒ ((x y) z #t)
(parameterize ((current-input-port (open-input-string "one\ntwo\n"))) (let* ((a (read-line)) (b (read-line))) (list a b (eof-object? (read-line))))) ⇒ ("one" "two" #t)
(parameterize ((current-input-port (open-input-string "abcdef"))) (let* ((a (read-string 2)) (b (read-string 9))) (list a b (eof-object? (read-string 1))))) ⇒ ("ab" "cdef" #t)
(parameterize ((current-input-port (open-input-string "x"))) (char-ready?)) ⇒ #t
(parameterize ((current-input-port (open-input-bytevector #u8(1 2 3 4 5)))) (let* ((a (read-u8)) (b (peek-u8)) (c (read-bytevector 2)) (d (u8-ready?)) (e (make-bytevector 3 0)) (n (read-bytevector! e))) (list a b c d e n))) ⇒ (1 2 #u8(2 3) #t #u8(4 5 0) 2)
(parameterize ((current-input-port (open-input-string "outer"))) (parameterize ((current-input-port (open-input-string "inner"))) (read-char)) (read-char)) ⇒ #\o
(parameterize ((current-input-port (open-input-bytevector #u8(1)))) (read-char)) ⇒ !type
(parameterize ((current-input-port 5)) (read-char)) ⇒ !type
(eof-object? (read-line)) ⇒ #t
(eof-object? (read)) ⇒ #t
(read-u8) ⇒ !type
; Reading bytes into a bytevector.
(let ((b (make-bytevector 4 0)) (p (open-input-bytevector #u8(1 2 3 4 5 6)))) (let* ((n (read-bytevector! b p)) (m (read-bytevector! b p 1 3)) (o (read-bytevector! b p))) (list n m b (eof-object? o)))) ⇒ (4 2 #u8(1 5 6 4) #t)
(let ((b (make-bytevector 3 9)) (p (open-input-bytevector #u8(1)))) (list (read-bytevector! b p 2) b)) ⇒ (1 #u8(9 9 1))
(read-bytevector! (make-bytevector 2) (open-input-bytevector #u8()) 1 1) ⇒ 0
(read-bytevector! (make-bytevector 2) (open-input-bytevector #u8(1)) 3) ⇒ !range
(read-bytevector! (make-bytevector 2) (open-input-string "a")) ⇒ !type
(read-bytevector! "text" (open-input-bytevector #u8(1))) ⇒ !type
(read-bytevector 0 (open-input-bytevector #u8())) ⇒ #u8()
(read-string 0 (open-input-string "")) ⇒ ""
; Writing bytes goes to the current output unless a port is given.
(let ((p (open-output-bytevector))) (parameterize ((current-output-port p)) (write-u8 1) (write-bytevector #u8(2 3))) (get-output-bytevector p)) ⇒ #u8(1 2 3)
(let ((p (open-output-bytevector))) (write-bytevector #u8(1 2 3 4) p 1 3) (get-output-bytevector p)) ⇒ #u8(2 3)
(write-u8 65) ⇒ !type
(write-u8 256 (open-output-bytevector)) ⇒ !range
(write-u8 1 (open-output-string)) ⇒ !type
; Predicates answer for ports of either direction; anything else is an error.
(output-port-open? (open-input-string "")) ⇒ #f
(input-port-open? (open-output-string)) ⇒ #f
(input-port-open? (current-output-port)) ⇒ #f
(output-port-open? (current-output-port)) ⇒ #t
(input-port-open? (current-input-port)) ⇒ #t
(input-port-open? 5) ⇒ !type
(output-port-open? "port") ⇒ !type
(let ((p (open-output-string))) (list (output-port-open? p) (begin (close-port p) (output-port-open? p)))) ⇒ (#t #f)
(let ((p (open-output-string))) (close-port p) (list (textual-port? p) (binary-port? p))) ⇒ (#t #f)
(let ((p (open-output-bytevector))) (close-port p) (list (textual-port? p) (binary-port? p))) ⇒ (#f #t)
(let ((p (open-output-string))) (write 'kept p) (close-port p) (get-output-string p)) ⇒ "kept"
(close-input-port (open-output-string)) ⇒ !type
(close-output-port (open-input-string "")) ⇒ !type
(close-port 5) ⇒ !type
(input-port? (open-output-string)) ⇒ #f
(output-port? (open-input-string "")) ⇒ #f
(port? (open-output-bytevector)) ⇒ #t
(map textual-port? (list (current-input-port) (current-output-port) (current-error-port))) ⇒ (#t #t #t)
(map binary-port? (list (open-input-bytevector #u8()) (open-input-string "") 5)) ⇒ (#t #f #f)
(char-ready? 5) ⇒ !type
(u8-ready? (open-input-bytevector #u8())) ⇒ #t
; Lines end with a line feed, a carriage return, or both.
(let ((p (open-input-string "a\rb\r\nc\nd"))) (let* ((a (read-line p)) (b (read-line p)) (c (read-line p)) (d (read-line p))) (list a b c d (eof-object? (read-line p))))) ⇒ ("a" "b" "c" "d" #t)
(let ((p (open-input-string "a\r\rb"))) (let* ((a (read-line p)) (b (read-line p)) (c (read-line p))) (list a b c))) ⇒ ("a" "" "b")
; Strings collected piece by piece.
(parameterize ((current-output-port (open-output-string))) (display "piece") (display " by piece ") (display "by piece.") (newline) (get-output-string (current-output-port))) ⇒ "piece by piece by piece.\n"
(call-with-port (open-output-string) (lambda (p) (write 'x p) (write-char #\! p) (write-string "abcd" p 1 3) (newline p) (get-output-string p))) ⇒ "x!bc\n"
(let ((p (open-input-string "q"))) (call-with-port p read-char) (input-port-open? p)) ⇒ #f
(let ((p (open-output-string))) (write-simple '(1 "two") p) (write-shared 'three p) (flush-output-port p) (get-output-string p)) ⇒ "(1 \"two\")three"
(eof-object? (eof-object)) ⇒ #t
(eof-object? 'eof) ⇒ #f
(open-input-file "name") ⇒ !unbound

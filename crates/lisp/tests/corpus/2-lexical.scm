; Chapters 2 and 7.1: lexical structure.
'abc ⇒ abc
'|hello world| ⇒ |hello world|
'|a\x41;b| ⇒ aAb
'|| ⇒ ||
'ABC ⇒ ABC
#!fold-case 'ABC ⇒ abc
'(a . b) ⇒ (a . b)
'(a b . (c)) ⇒ (a b c)
'[a b] ⇒ (a b)
#t ⇒ #t
#true ⇒ #t
#f ⇒ #f
#false ⇒ #f
#\a ⇒ #\a
#\space ⇒ #\space
#\newline ⇒ #\newline
#\x41 ⇒ #\A
#\λ ⇒ #\λ
#\( ⇒ #\(
#\x ⇒ #\x
#\nul ⇒ !read
#\null ⇒ #\null
#\delete ⇒ #\delete
#\escape ⇒ #\escape
#\alarm ⇒ #\alarm
#\backspace ⇒ #\backspace
#\tab ⇒ #\tab
#\return ⇒ #\return
"a\nb" ⇒ "a\nb"
"tab\there" ⇒ "tab\there"
"\x3bb;" ⇒ "λ"
"say \"hi\"" ⇒ "say \"hi\""
"back\\slash" ⇒ "back\\slash"
"joined \
   line" ⇒ "joined line"
"\q" ⇒ !read
#(1 2 3) ⇒ #(1 2 3)
#() ⇒ #()
#u8(0 255) ⇒ #u8(0 255)
#u8(256) ⇒ !read
'(1 #;2 3) ⇒ (1 3)
'(1 #;(a b) #;c 3) ⇒ (1 3)
#| block #| nested |# comment |# 5 ⇒ 5
#| open ⇒ !read
(+ 1 ; a comment
   2) ⇒ 3
'(quote a) ⇒ 'a
''a ⇒ 'a
'`(a ,b ,@c) ⇒ `(a ,b ,@c)
(1 . ) ⇒ !read
( . 1) ⇒ !read
'(1 . 2 3) ⇒ !read
) ⇒ !read
(1 2 ⇒ !read
"open ⇒ !read
#foo ⇒ !read
'#0=(a b . #0#) ⇒ #0=(a b . #0#)
'(#1=(x) #1#) ⇒ ((x) (x))
(let ((x '#2=(1 2 . #2#))) (list-ref x 101)) ⇒ 2
'... ⇒ ...
'+ ⇒ +
'- ⇒ -
'-> ⇒ ->
'1+ ⇒ 1+
'+a ⇒ +a
'<=? ⇒ <=?
'|1| ⇒ |1|
'|a b| ⇒ |a b|
; The words of booleans and directives are read in either case.
#T ⇒ #t
#TRUE ⇒ #t
#True ⇒ #t
#F ⇒ #f
#FALSE ⇒ #f
#!FOLD-CASE 'ABC ⇒ abc
#!fold-case (list 'STRASSE 'Straße 'ΣΑΣ) ⇒ (strasse strasse σασ)
#!fold-case '|ABC| ⇒ ABC
#truth ⇒ !read
; A carriage return ends a line: alone or with a line feed, in comments and inside strings.
(read (open-input-string "; skipped\rvisible")) ⇒ visible
(read (open-input-string "; skipped\r\nvisible")) ⇒ visible
(string->list (read (open-input-string "\"a\rb\""))) ⇒ (#\a #\newline #\b)
(string->list (read (open-input-string "\"a\r\nb\""))) ⇒ (#\a #\newline #\b)
(read (open-input-string "\"a\\\r   b\"")) ⇒ "ab"
(read (open-input-string "\"a\\ \r\n  b\"")) ⇒ "ab"

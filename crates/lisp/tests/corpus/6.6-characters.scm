; 6.6 Characters.
#\a ⇒ #\a
#\A ⇒ #\A
#\( ⇒ #\(
#\space ⇒ #\space
#\newline ⇒ #\newline
#\tab ⇒ #\tab
#\null ⇒ #\null
#\alarm ⇒ #\alarm
#\backspace ⇒ #\backspace
#\delete ⇒ #\delete
#\escape ⇒ #\escape
#\return ⇒ #\return
#\x41 ⇒ #\A
#\λ ⇒ #\λ
#\x ⇒ #\x
(char? #\a) ⇒ #t
(char? "a") ⇒ #f
(char->integer #\A) ⇒ 65
(integer->char 955) ⇒ #\λ
(integer->char #xD800) ⇒ !range
(integer->char #x110000) ⇒ !range
(integer->char -1) ⇒ !range
(char=? #\a #\a #\a) ⇒ #t
(char<? #\a #\b #\c) ⇒ #t
(char<? #\a #\c #\b) ⇒ #f
(char>? #\c #\b #\a) ⇒ #t
(char<=? #\a #\a #\b) ⇒ #t
(char>=? #\b #\a #\a) ⇒ #t
(char<? #\a 1) ⇒ !type
(char-ci=? #\a #\A) ⇒ #t
(char-ci<? #\a #\B) ⇒ #t
(char-alphabetic? #\a) ⇒ #t
(char-alphabetic? #\λ) ⇒ #t
(char-alphabetic? #\1) ⇒ #f
(char-numeric? #\1) ⇒ #t
(char-numeric? #\a) ⇒ #f
(char-whitespace? #\space) ⇒ #t
(char-whitespace? #\a) ⇒ #f
(char-upper-case? #\A) ⇒ #t
(char-upper-case? #\a) ⇒ #f
(char-lower-case? #\a) ⇒ #t
(char-upcase #\i) ⇒ #\I
(char-downcase #\I) ⇒ #\i
(char-upcase #\ß) ⇒ #\ß
(char-foldcase #\Σ) ⇒ #\σ
(digit-value #\3) ⇒ 3
(digit-value #\x0664) ⇒ 4
(digit-value #\x0AE6) ⇒ 0
(digit-value #\a) ⇒ #f

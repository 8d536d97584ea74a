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
; Folding: what differs by case alone becomes the same.
(char-foldcase #\ſ) ⇒ #\s
(char-foldcase #\ς) ⇒ #\σ
(char-foldcase #\ß) ⇒ #\ß
(char-foldcase #\ẞ) ⇒ #\ß
(char-foldcase #\ı) ⇒ #\ı
(char-foldcase #\İ) ⇒ #\İ
(char-foldcase #\x212A) ⇒ #\k
(char-foldcase #\x2126) ⇒ #\ω
(char-foldcase #\xB5) ⇒ #\μ
(char-foldcase #\x1F88) ⇒ #\ᾀ
(char-foldcase #\x13A0) ⇒ #\Ꭰ
(char-foldcase #\xAB70) ⇒ #\Ꭰ
(char-foldcase #\x1C5) ⇒ #\ǆ
(char-ci=? #\Σ #\σ #\ς) ⇒ #t
(char-ci=? #\ſ #\S) ⇒ #t
(char-ci=? #\ϐ #\Β) ⇒ #t
(char-ci=? #\ı #\i) ⇒ #f
(char-ci<? #\ſ #\T #\u) ⇒ #t
(char-ci>? #\Z #\y) ⇒ #t
(char-ci<=? #\a #\A #\b) ⇒ #t
(char-ci>=? #\B #\b #\A) ⇒ #t
(char-ci=? #\a 1) ⇒ !type
; Classes and values.
(char-alphabetic? #\space) ⇒ #f
(char-numeric? #\x0664) ⇒ #t
(char-whitespace? #\newline) ⇒ #t
(char-whitespace? #\x00A0) ⇒ #t
(char-upper-case? #\Σ) ⇒ #t
(char-lower-case? #\Σ) ⇒ #f
(char-lower-case? #\3) ⇒ #f
(digit-value #\7) ⇒ 7
(digit-value #\x0968) ⇒ 2
(digit-value #\x) ⇒ #f
(integer->char (char->integer #\q)) ⇒ #\q
(char->integer #\x10FFFF) ⇒ 1114111
(char-upcase #\ÿ) ⇒ #\Ÿ
(char-downcase #\É) ⇒ #\é

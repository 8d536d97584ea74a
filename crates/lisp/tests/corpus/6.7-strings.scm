; 6.6 Characters, 6.7 strings.
(char? #\a) ⇒ #t
(char->integer #\A) ⇒ 65
(integer->char 955) ⇒ #\λ
(integer->char 55296) ⇒ !range
(char<? #\a #\b #\c) ⇒ #t
(char=? #\a #\A) ⇒ #f
(char-ci=? #\a #\A) ⇒ #t
(char>=? #\c #\b #\b) ⇒ #t
(char-alphabetic? #\λ) ⇒ #t
(char-numeric? #\5) ⇒ #t
(char-numeric? #\a) ⇒ #f
(char-whitespace? #\space) ⇒ #t
(char-upper-case? #\A) ⇒ #t
(char-lower-case? #\A) ⇒ #f
(digit-value #\3) ⇒ 3
(digit-value #\x0664) ⇒ 4
(digit-value #\x0AE6) ⇒ 0
(digit-value #\x0EA6) ⇒ #f
(char-upcase #\i) ⇒ #\I
(char-upcase #\ß) ⇒ #\ß
(char-downcase #\Σ) ⇒ #\σ
(char-foldcase #\A) ⇒ #\a
(char-upcase "a") ⇒ !type
(string? "a") ⇒ #t
(string? 'a) ⇒ #f
(make-string 3 #\x) ⇒ "xxx"
(make-string 0) ⇒ ""
(string #\a #\b) ⇒ "ab"
(string) ⇒ ""
(string-length "abc") ⇒ 3
(string-length "λμ") ⇒ 2
(string-ref "abc" 1) ⇒ #\b
(string-ref "abc" 3) ⇒ !range
(string-ref "aλc" 2) ⇒ #\c
(let ((s (make-string 3 #\*))) (string-set! s 0 #\?) s) ⇒ "?**"
(let ((s (string-copy "abc"))) (string-set! s 1 #\λ) s) ⇒ "aλc"
(string-set! (make-string 1) 1 #\a) ⇒ !range
(string=? "a" "a" "a") ⇒ #t
(string=? "a" "b") ⇒ #f
(string<? "abc" "abd") ⇒ #t
(string<? "ab" "abc") ⇒ #t
(string>? "b" "a") ⇒ #t
(string<=? "a" "a" "b") ⇒ #t
(string>=? "b" "b" "a") ⇒ #t
(string-ci=? "AbC" "aBc") ⇒ #t
(string-ci<? "a" "B") ⇒ #t
(string=? "a" 'a) ⇒ !type
(string-upcase "abc ß") ⇒ "ABC SS"
(string-downcase "ABC") ⇒ "abc"
(string-foldcase "AbC") ⇒ "abc"
(substring "hello" 1 3) ⇒ "el"
(substring "hello" 2) ⇒ "llo"
(substring "hello" 3 2) ⇒ !range
(substring "hello" 0 9) ⇒ !range
(string-append "foo" "bar" "") ⇒ "foobar"
(string-append) ⇒ ""
(string-append "a" 1) ⇒ !type
(string->list "abc") ⇒ (#\a #\b #\c)
(string->list "abcd" 1 3) ⇒ (#\b #\c)
(list->string '(#\a #\b)) ⇒ "ab"
(list->string '(1)) ⇒ !type
(list->string '(#\a . #\b)) ⇒ !type
(string-copy "hello" 2) ⇒ "llo"
(string-copy "hello" 1 4) ⇒ "ell"
(let ((s (string-copy "12345"))) (string-copy! s 1 "ab") s) ⇒ "1ab45"
(let ((s (string-copy "12345"))) (string-copy! s 0 s 2) s) ⇒ "34545"
(string-copy! (make-string 2) 1 "ab") ⇒ !range
(let ((s (make-string 3 #\a))) (string-fill! s #\b 1) s) ⇒ "abb"
(string->vector "abc") ⇒ #(#\a #\b #\c)
(vector->string #(#\a #\b)) ⇒ "ab"
(string-map char-upcase "abc") ⇒ "ABC"
(string-map (lambda (a b) (if (char<? a b) a b)) "adc" "bbbz") ⇒ "abb"
(let ((out '())) (string-for-each (lambda (c) (set! out (cons c out))) "abc") out) ⇒ (#\c #\b #\a)
(string-index "hello" #\l) ⇒ 2
(string-index "hello" #\z) ⇒ #f
(string-search-forward "lo" "hello" 0) ⇒ 3
(string-search-forward "zz" "hello" 0) ⇒ #f
(string-join '("a" "b" "c") ", ") ⇒ "a, b, c"
(string-join '()) ⇒ ""
(string-reverse "abc") ⇒ "cba"
(string-null? "") ⇒ #t
(string-count "banana" (lambda (c) (char=? c #\a))) ⇒ 3
; Full folding: one character may become several.
(string-foldcase "Straße") ⇒ "strasse"
(string-foldcase "ẞ") ⇒ "ss"
(string-foldcase "ΧΑΟΣ") ⇒ "χαοσ"
(string-foldcase "χαος") ⇒ "χαοσ"
(string-foldcase "ſﬁ") ⇒ "sfi"
(string-length (string-foldcase "İ")) ⇒ 2
(string-foldcase "ıI") ⇒ "ıi"
(string-foldcase "\x1F88;") ⇒ "ἀι"
(string-foldcase "\xAB70;\x13F8;") ⇒ "ᎠᏰ"
(string-ci=? "Straße" "STRASSE" "strasse") ⇒ #t
(string-ci=? "ΧΑΟΣ" "χαος" "χαοσ") ⇒ #t
(string-ci=? "ſ" "S") ⇒ #t
(string-ci=? "ß" "s") ⇒ #f
(string-ci<? "Straßa" "STRASSB") ⇒ #t
(string-ci>? "STRASSB" "straßa") ⇒ #t
(string-ci<=? "ß" "SS" "st") ⇒ #t
(string-ci>=? "st" "SS" "ß") ⇒ #t
(string-downcase "ΧΑΟΣ ΧΑΟΣΣ") ⇒ "χαος χαοσς"
(string-upcase "ﬁ") ⇒ "FI"
; Strings one by one.
(string? "") ⇒ #t
(string? #\a) ⇒ #f
(string-length (make-string 3)) ⇒ 3
(make-string 2 #\-) ⇒ "--"
(make-string 2 "-") ⇒ !type
(string #\p #\λ) ⇒ "pλ"
(string-length "") ⇒ 0
(string-ref "pqr" 0) ⇒ #\p
(string-ref "pqr" -1) ⇒ !range
(define (stars) (make-string 3 #\*)) (let ((s (stars))) (string-set! s 0 #\?) (list s (stars))) ⇒ ("?**" "***")
(string=? "pq" "pq") ⇒ #t
(string=? "pq" "pq" "pr") ⇒ #f
(string<? "p" "q" "p") ⇒ #f
(string<? "" "a") ⇒ #t
(string>=? "a" "") ⇒ #t
(substring "abcdef" 2 4) ⇒ "cd"
(string-append "one" " " "two") ⇒ "one two"
(string->list "pqr") ⇒ (#\p #\q #\r)
(string->list "pqr" 1) ⇒ (#\q #\r)
(string->list "pqr" 1 2) ⇒ (#\q)
(list->string '()) ⇒ ""
(string-copy "pqr") ⇒ "pqr"
(let* ((a "pqr") (b (string-copy a))) (string-set! b 0 #\z) (list a b)) ⇒ ("pqr" "zqr")
(let ((to (string-copy "54321"))) (string-copy! to 1 "wxyz" 1 3) to) ⇒ "5xy21"
(let ((s (string-copy "abcde"))) (string-copy! s 1 s 0 4) s) ⇒ "aabcd"
(let ((s (string-copy "abcde"))) (string-fill! s #\-) s) ⇒ "-----"
(let ((s (string-copy "abcde"))) (string-fill! s #\- 1 3) s) ⇒ "a--de"
(string-map char-foldcase "AbCdE") ⇒ "abcde"
(string-map (lambda (c) (integer->char (+ 1 (char->integer c)))) "GZK") ⇒ "H[L"
(string-map (lambda (c k) (if (eqv? k #\u) (char-upcase c) (char-downcase c))) "letters here" "ululul") ⇒ "LeTtEr"
(let ((seen '())) (string-for-each (lambda (c) (set! seen (cons (char->integer c) seen))) "abc") seen) ⇒ (99 98 97)
(let ((seen '())) (string-for-each (lambda (a b) (set! seen (cons (string a b) seen))) "abc" "xy") seen) ⇒ ("by" "ax")

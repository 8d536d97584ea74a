; 6.5 Symbols.
(symbol? 'foo) ⇒ #t
(symbol? (car '(a b))) ⇒ #t
(symbol? "bar") ⇒ #f
(symbol? 'nil) ⇒ #t
(symbol? '()) ⇒ #f
(symbol? #f) ⇒ #f
(symbol=? 'a 'a 'a) ⇒ #t
(symbol=? 'a 'a 'b) ⇒ #f
(symbol=? 'a "a") ⇒ !type
(symbol->string 'flying-fish) ⇒ "flying-fish"
(symbol->string 'Martin) ⇒ "Martin"
(symbol->string (string->symbol "Malvina")) ⇒ "Malvina"
(string->symbol "mISSISSIppi") ⇒ mISSISSIppi
(eqv? 'bitBlt (string->symbol "bitBlt")) ⇒ #t
(eqv? 'LollyPop (string->symbol (symbol->string 'LollyPop))) ⇒ #t
(string=? "K. Harper, M.D." (symbol->string (string->symbol "K. Harper, M.D."))) ⇒ #t
(string->symbol "K. Harper") ⇒ |K. Harper|
(string->symbol "") ⇒ ||
(string->symbol "1") ⇒ |1|
(string->symbol "+1") ⇒ |+1|
(string->symbol ".") ⇒ |.|
(string->symbol "a|b") ⇒ |a\|b|
'|two words| ⇒ |two words|
'|\x41;b| ⇒ Ab
(eq? 'abc 'ABC) ⇒ #f
(symbol->string "a") ⇒ !type
(string->symbol 'a) ⇒ !type
(symbol-append 'foo 'bar 'baz) ⇒ foobarbaz
(let ((s (symbol->string 'immutable))) (string-length s)) ⇒ 9
'... ⇒ ...
'+ ⇒ +
'-> ⇒ ->
'<=? ⇒ <=?
'λ ⇒ λ
(symbol? (string->symbol "a b")) ⇒ #t
(symbol=? 'p 'p) ⇒ #t
(symbol=? 'p 'P) ⇒ #f
(eq? 'bitBlt (string->symbol (string-append "bit" "Blt"))) ⇒ #t
(symbol->string (string->symbol "Two Words")) ⇒ "Two Words"
(let ((s (symbol->string 'abc))) (string-set! s 0 #\z) 'abc) ⇒ abc

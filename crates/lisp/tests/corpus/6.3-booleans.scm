; 6.3 Booleans.
#t ⇒ #t
#f ⇒ #f
#true ⇒ #t
#false ⇒ #f
'#f ⇒ #f
(not 3) ⇒ #f
(not (list 3)) ⇒ #f
(not #f) ⇒ #t
(not '()) ⇒ #f
(not (list)) ⇒ #f
(not 'nil) ⇒ #f
(not not) ⇒ #f
(not) ⇒ !arity
(boolean? #f) ⇒ #t
(boolean? 0) ⇒ #f
(boolean? '()) ⇒ #f
(boolean=? #t #t) ⇒ #t
(boolean=? #f #f #f) ⇒ #t
(boolean=? #t #f) ⇒ #f
(boolean=? #t #t #f) ⇒ #f
(boolean=? 1 #t) ⇒ !type
(if 0 'true 'false) ⇒ true
(if "" 'true 'false) ⇒ true
(if '() 'true 'false) ⇒ true

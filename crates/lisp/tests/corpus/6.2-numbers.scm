; 6.2 Numbers.
(complex? 3) ⇒ #t
(real? 1/2) ⇒ #t
(rational? 6/10) ⇒ #t
(rational? +inf.0) ⇒ #f
(rational? -inf.0) ⇒ #f
(integer? 3.0) ⇒ #t
(integer? 8/4) ⇒ #t
(integer? 1/2) ⇒ #f
(integer? "3") ⇒ #f
(number? 'a) ⇒ #f
(exact? 3.0) ⇒ #f
(exact? #e3.0) ⇒ #t
(inexact? 3.) ⇒ #t
(exact-integer? 32) ⇒ #t
(exact-integer? 32.0) ⇒ #f
(exact-integer? 32/5) ⇒ #f
(finite? 3) ⇒ #t
(finite? +inf.0) ⇒ #f
(infinite? -inf.0) ⇒ #t
(nan? +nan.0) ⇒ #t
(nan? 32) ⇒ #f
(= 1 1.0 1) ⇒ #t
(= 1/3 .333) ⇒ #f
(< 1 2 3) ⇒ #t
(< 1 3 2) ⇒ #f
(<= 1 1 2) ⇒ #t
(> 3 2 1) ⇒ #t
(>= 3 3 2) ⇒ #t
(< 1 'a) ⇒ !type
(= 9007199254740993 9007199254740992.0) ⇒ #f
(< 1/2 0.75 1) ⇒ #t
(= +nan.0 +nan.0) ⇒ #f
(< 100000000000000000000 100000000000000000001) ⇒ #t
(< -100000000000000000000 1) ⇒ #t
(zero? 0) ⇒ #t
(zero? 0.0) ⇒ #t
(zero? 1/2) ⇒ #f
(positive? 1/2) ⇒ #t
(negative? -5) ⇒ #t
(odd? 3) ⇒ #t
(even? 100000000000000000000) ⇒ #t
(odd? 3.0) ⇒ #t
(odd? 1/2) ⇒ !type
(max 3 4) ⇒ 4
(max 3.9 4) ⇒ 4.0
(min 1 2 1/2) ⇒ 1/2
(+ 3 4) ⇒ 7
(+ 3) ⇒ 3
(+) ⇒ 0
(+ 'a) ⇒ !type
(* 4) ⇒ 4
(*) ⇒ 1
(- 3 4) ⇒ -1
(- 3 4 5) ⇒ -6
(- 3) ⇒ -3
(/ 3 4 5) ⇒ 3/20
(/ 3) ⇒ 1/3
(/ 6 3) ⇒ 2
(/ 1 3.0) ⇒ 0.3333333333333333
(/ 1 0) ⇒ !divide-by-zero
(/ 0) ⇒ !divide-by-zero
(/ 1 0.0) ⇒ +inf.0
(/ 1.5 0) ⇒ !divide-by-zero
(+ 1/2 1/3) ⇒ 5/6
(+ 1/2 1/2) ⇒ 1
(* 2/3 3/2) ⇒ 1
(- 1/2 3/4) ⇒ -1/4
(+ 1/2 0.5) ⇒ 1.0
(+ 1152921504606846975 1) ⇒ 1152921504606846976
(- -1152921504606846976 1) ⇒ -1152921504606846977
(* 1152921504606846975 2) ⇒ 2305843009213693950
(- (expt 2 60) 1) ⇒ 1152921504606846975
(* 99999999999 99999999999) ⇒ 9999999999800000000001
(+ 9223372036854775807 1) ⇒ 9223372036854775808
(- (+ 9223372036854775807 1) 1) ⇒ 9223372036854775807
(* 1.5 2) ⇒ 3.0
(abs -7) ⇒ 7
(abs -1/2) ⇒ 1/2
(abs -1.5) ⇒ 1.5
(abs -100000000000000000000) ⇒ 100000000000000000000
(call-with-values (lambda () (floor/ 5 2)) list) ⇒ (2 1)
(call-with-values (lambda () (floor/ -5 2)) list) ⇒ (-3 1)
(call-with-values (lambda () (floor/ 5 -2)) list) ⇒ (-3 -1)
(call-with-values (lambda () (floor/ -5 -2)) list) ⇒ (2 -1)
(call-with-values (lambda () (truncate/ -5 2)) list) ⇒ (-2 -1)
(call-with-values (lambda () (truncate/ -5.0 2)) list) ⇒ (-2.0 -1.0)
(floor-quotient 7 -2) ⇒ -4
(floor-remainder 7 -2) ⇒ -1
(truncate-quotient 7 -2) ⇒ -3
(truncate-remainder 7 -2) ⇒ 1
(modulo -13 4) ⇒ 3
(remainder -13 4) ⇒ -1
(quotient 17 5) ⇒ 3
(modulo 13 -4) ⇒ -3
(modulo -13 4.0) ⇒ 3.0
(quotient 1 0) ⇒ !divide-by-zero
(modulo 10 0) ⇒ !divide-by-zero
(quotient 100000000000000000000 3) ⇒ 33333333333333333333
(modulo -100000000000000000000 7) ⇒ 5
(quotient 1.5 2) ⇒ !type
(gcd 32 -36) ⇒ 4
(gcd) ⇒ 0
(lcm 32 -36) ⇒ 288
(lcm 32.0 -36) ⇒ 288.0
(lcm) ⇒ 1
(gcd 0 5) ⇒ 5
(numerator (/ 6 4)) ⇒ 3
(denominator (/ 6 4)) ⇒ 2
(denominator 0) ⇒ 1
(denominator (inexact (/ 6 4))) ⇒ 2.0
(floor -4.3) ⇒ -5.0
(ceiling -4.3) ⇒ -4.0
(truncate -4.3) ⇒ -4.0
(round -4.3) ⇒ -4.0
(floor 3.5) ⇒ 3.0
(round 3.5) ⇒ 4.0
(round 2.5) ⇒ 2.0
(round 7/2) ⇒ 4
(round 5/2) ⇒ 2
(round -7/2) ⇒ -4
(round 7) ⇒ 7
(floor -7/2) ⇒ -4
(ceiling -7/2) ⇒ -3
(truncate -7/2) ⇒ -3
(rationalize (exact .3) 1/10) ⇒ 1/3
(rationalize .3 1/10) ⇒ 0.3333333333333333
(rationalize -3/10 1/10) ⇒ -1/3
(exp 0) ⇒ 1
(exp 1) ⇒ 2.718281828459045
(log 1) ⇒ 0
(log 8 2) ⇒ 3.0
(log 100 10) ⇒ 2.0
(log -1) ⇒ !range
(sin 0) ⇒ 0
(cos 0) ⇒ 1
(sin 0.0) ⇒ 0.0
(atan 1 1) ⇒ 0.7853981633974483
(atan 1) ⇒ 0.7853981633974483
(atan -1 0) ⇒ -1.5707963267948966
(acos 1) ⇒ 0
(asin 2) ⇒ !range
(square 42) ⇒ 1764
(square 2.0) ⇒ 4.0
(sqrt 9) ⇒ 3
(sqrt 2) ⇒ 1.4142135623730951
(sqrt 1/4) ⇒ 1/2
(sqrt 16.0) ⇒ 4.0
(sqrt -1) ⇒ !range
(sqrt (expt 10 40)) ⇒ 100000000000000000000
(call-with-values (lambda () (exact-integer-sqrt 17)) list) ⇒ (4 1)
(exact-integer-sqrt -1) ⇒ !type
(expt 2 10) ⇒ 1024
(expt 2 200) ⇒ 1606938044258990275541962092341162602522202993782792835301376
(expt 2 -2) ⇒ 1/4
(expt 2.0 3) ⇒ 8.0
(expt 4 0.5) ⇒ 2.0
(expt 0 0) ⇒ 1
(expt 0 5) ⇒ 0
(expt 0 -1) ⇒ !divide-by-zero
(expt 2/3 3) ⇒ 8/27
(expt -2 3) ⇒ -8
(expt 1 100000000000000000000) ⇒ 1
(expt -1 100000000000000000001) ⇒ -1
(expt 0.0 0) ⇒ 1.0
(expt -8 1/3) ⇒ !range
(exact 2.0) ⇒ 2
(exact 2.5) ⇒ 5/2
(exact 1e18) ⇒ 1000000000000000000
(exact 1e20) ⇒ 100000000000000000000
(exact +inf.0) ⇒ !range
(inexact 1/3) ⇒ 0.3333333333333333
(exact->inexact 1/4) ⇒ 0.25
(inexact->exact .25) ⇒ 1/4
(inexact 100000000000000000000) ⇒ 1.0e20
(number->string 255 16) ⇒ "ff"
(number->string -255 2) ⇒ "-11111111"
(number->string 1/3) ⇒ "1/3"
(number->string 1/255 16) ⇒ "1/ff"
(number->string 1.5) ⇒ "1.5"
(number->string 10 1) ⇒ !range
(string->number "100") ⇒ 100
(string->number "100" 16) ⇒ 256
(string->number "1e2") ⇒ 100.0
(string->number "#xff") ⇒ 255
(string->number "#b101") ⇒ 5
(string->number "#o17") ⇒ 15
(string->number "1/2") ⇒ 1/2
(string->number "1/0") ⇒ #f
(string->number "abc") ⇒ #f
(string->number "") ⇒ #f
(string->number "-") ⇒ #f
(string->number ".") ⇒ #f
(string->number "+5") ⇒ 5
(string->number ".5") ⇒ 0.5
(string->number "1.") ⇒ 1.0
(string->number "1e") ⇒ #f
(string->number "#e1.5") ⇒ 3/2
(string->number "#i1/2") ⇒ 0.5
(string->number "1.5.2") ⇒ #f
(string->number "12abc") ⇒ #f
(string->number "ff" 16) ⇒ 255
(string->number "zz" 36) ⇒ 1295
1e3 ⇒ 1000.0
-1.5e-3 ⇒ -0.0015
1e21 ⇒ 1.0e21
123456789.123 ⇒ 123456789.123
0.1 ⇒ 0.1
-0.0 ⇒ -0.0
+inf.0 ⇒ +inf.0
-inf.0 ⇒ -inf.0
+nan.0 ⇒ +nan.0
#xFF ⇒ 255
#e1.2 ⇒ 6/5
#e1e3 ⇒ 1000
#i5 ⇒ 5.0
#x-1A ⇒ -26
6/4 ⇒ 3/2
-6/3 ⇒ -2
(exact (floor 2.5)) ⇒ 2
(truncate->exact 2.7) ⇒ 2
(bitwise-and 12 10) ⇒ 8
(bitwise-or 12 10) ⇒ 14
(bitwise-xor 12 10) ⇒ 6
(bitwise-not 0) ⇒ -1
(arithmetic-shift 1 70) ⇒ 1180591620717411303424
(arithmetic-shift -8 -1) ⇒ -4
(let fact ((n 30)) (if (= n 0) 1 (* n (fact (- n 1))))) ⇒ 265252859812191058636308480000000
; What is written can be read: the decimal point, the sign of zero, other radices.
5e-324 ⇒ 5.0e-324
1.5e300 ⇒ 1.5e300
-2e30 ⇒ -2.0e30
(- 0.0) ⇒ -0.0
(- -0.0) ⇒ 0.0
(apply - '(0.0)) ⇒ -0.0
(- 0 0.0) ⇒ 0.0
(- 5) ⇒ -5
(- 2.5) ⇒ -2.5
(- 1/2) ⇒ -1/2
(- 100000000000000000000) ⇒ -100000000000000000000
(- 'a) ⇒ !type
(number->string 0.5 2) ⇒ "0.1"
(number->string -0.75 2) ⇒ "-0.11"
(number->string 255.5 16) ⇒ "ff.8"
(number->string 10.0 2) ⇒ "1010.0"
(number->string 0.1 3) ⇒ "0.0022002200220022002200220022002201"
(number->string -0.0 2) ⇒ "-0.0"
(number->string 1e21 10) ⇒ "1.0e21"
(number->string +inf.0 2) ⇒ "+inf.0"
(string->number "0.1" 2) ⇒ 0.5
(string->number "-ff.8" 16) ⇒ -255.5
(string->number "1.2.1" 3) ⇒ #f
(string->number "." 2) ⇒ #f
(string->number "0.2" 2) ⇒ #f
#b0.1 ⇒ 0.5
#e#x0.8 ⇒ 1/2
(let ((x 0.1)) (eqv? x (string->number (number->string x 3) 3))) ⇒ #t
(let ((x 1e-300)) (eqv? x (string->number (number->string x 2) 2))) ⇒ #t
(let ((x 12345.678)) (eqv? x (string->number (number->string x 7) 7))) ⇒ #t
(let ((x 4.9406564584124654e-324)) (eqv? x (string->number (number->string x 16) 16))) ⇒ #t
(let ((x 1.7976931348623157e308)) (eqv? x (string->number (number->string x 36) 36))) ⇒ #t
; The exponent markers of the earlier reports.
1s2 ⇒ 100.0
1f2 ⇒ 100.0
1d2 ⇒ 100.0
1l2 ⇒ 100.0
1.5S-1 ⇒ 0.15
#e1d3 ⇒ 1000
(string->number "2L1") ⇒ 20.0
'1s ⇒ 1s
(string->symbol "1s2") ⇒ |1s2|
; The tower: kinds of numbers.
(complex? 7) ⇒ #t
(complex? 'a) ⇒ #f
(real? 7) ⇒ #t
(real? -2.5) ⇒ #t
(real? #e1e10) ⇒ #t
(real? +inf.0) ⇒ #t
(real? +nan.0) ⇒ #t
(rational? 3.5) ⇒ #t
(rational? 6/3) ⇒ #t
(rational? +nan.0) ⇒ #f
(integer? 5) ⇒ #t
(integer? 1e300) ⇒ #t
(integer? +inf.0) ⇒ #f
(exact? 1/2) ⇒ #t
(inexact? 1e3) ⇒ #t
(exact? 'a) ⇒ !type
(exact-integer? 100000000000000000000) ⇒ #t
(finite? +nan.0) ⇒ #f
(finite? 1e308) ⇒ #t
(infinite? 3) ⇒ #f
(infinite? +nan.0) ⇒ #f
(nan? 1/2) ⇒ #f
3+4i ⇒ !unbound
(make-rectangular 1 2) ⇒ !unbound
; Order, sums and products.
(max 2 3) ⇒ 3
(max 2.5 3) ⇒ 3.0
(min 2 2.5) ⇒ 2.0
(max 1) ⇒ 1
(max) ⇒ !arity
(>= 5 5 4 4) ⇒ #t
(<= 1 2 2 1) ⇒ #f
(= 1 2 'a) ⇒ !type
(+ 5 6) ⇒ 11
(* 5) ⇒ 5
(- 5 6) ⇒ -1
(- 5 6 7) ⇒ -8
(/ 5 6 7) ⇒ 5/42
(/ 5) ⇒ 1/5
(/ 0.0 0) ⇒ !divide-by-zero
(/ 0 0.0) ⇒ +nan.0
(abs -9) ⇒ 9
(magnitude -9) ⇒ 9
; Division, in all four quadrants.
(define-syntax both (syntax-rules () ((_ e) (call-with-values (lambda () e) list)))) ⇒ 
(list (both (floor/ 7 3)) (both (floor/ -7 3)) (both (floor/ 7 -3)) (both (floor/ -7 -3))) ⇒ ((2 1) (-3 2) (-3 -2) (2 -1))
(list (both (truncate/ 7 3)) (both (truncate/ -7 3)) (both (truncate/ 7 -3)) (both (truncate/ -7 -3))) ⇒ ((2 1) (-2 -1) (-2 1) (2 -1))
(both (floor/ 7.0 -3)) ⇒ (-3.0 -2.0)
(list (floor-quotient -7 3) (floor-remainder -7 3) (truncate-quotient -7 3) (truncate-remainder -7 3)) ⇒ (-3 2 -2 -1)
(list (quotient -7 3) (remainder -7 3) (modulo -7 3) (modulo 7 -3)) ⇒ (-2 -1 2 -2)
(floor/ 1 0) ⇒ !divide-by-zero
(gcd 12 -18) ⇒ 6
(gcd 12.0 18) ⇒ 6.0
(lcm 4 -6) ⇒ 12
(lcm 4.0 6) ⇒ 12.0
(list (numerator 10/4) (denominator 10/4)) ⇒ (5 2)
(list (numerator 2.5) (denominator 2.5)) ⇒ (5.0 2.0)
(list (numerator 7) (denominator 7)) ⇒ (7 1)
; Rounding goes to even.
(map floor '(-2.7 2.7 5/2 3)) ⇒ (-3.0 2.0 2 3)
(map ceiling '(-2.7 2.7 5/2 3)) ⇒ (-2.0 3.0 3 3)
(map truncate '(-2.7 2.7 5/2 -5/2)) ⇒ (-2.0 2.0 2 -2)
(map round '(-2.5 2.5 3.5 7/2 5/2 9)) ⇒ (-2.0 2.0 4.0 4 2 9)
(round -0.3) ⇒ -0.0
(rationalize 3/10 1/10) ⇒ 1/3
(rationalize .3 1/10) ⇒ 0.3333333333333333
(rationalize 1/4 1/12) ⇒ 1/3
; Roots, powers and the functions of analysis.
(square 9) ⇒ 81
(square 1/3) ⇒ 1/9
(sqrt 49) ⇒ 7
(sqrt 9/16) ⇒ 3/4
(sqrt 2.25) ⇒ 1.5
(both (exact-integer-sqrt 16)) ⇒ (4 0)
(both (exact-integer-sqrt 21)) ⇒ (4 5)
(expt 3 4) ⇒ 81
(expt 3 -2) ⇒ 1/9
(expt 0 0.0) ⇒ 1.0
(expt 1/2 2) ⇒ 1/4
(exp 0.0) ⇒ 1.0
(log 1.0) ⇒ 0.0
(log 27 3) ⇒ 3.0
(log 1024 2) ⇒ 10.0
(tan 0) ⇒ 0
(asin 0) ⇒ 0
(atan 0) ⇒ 0
(atan 0.0 -1) ⇒ 3.141592653589793
(atan 1 0) ⇒ 1.5707963267948966
(exact 3.0) ⇒ 3
(exact 0.5) ⇒ 1/2
(exact +nan.0) ⇒ !range
(inexact 3) ⇒ 3.0
(inexact 1/8) ⇒ 0.125
; Text to numbers and back.
(string->number "77" 8) ⇒ 63
(string->number "1e3") ⇒ 1000.0
(string->number "#e1e3") ⇒ 1000
(string->number "9" 8) ⇒ #f
(string->number "+inf.0") ⇒ +inf.0
(string->number "-nan.0") ⇒ +nan.0
(string->number "1+") ⇒ #f
(string->number "1" 37) ⇒ !range
(number->string 63 8) ⇒ "77"
(number->string 3.0) ⇒ "3.0"
(number->string 'a) ⇒ !type

; Factorials far beyond machine integers, and the sum of their digits.
(define (factorial n)
  (let loop ((i 1) (result 1))
    (if (> i n) result (loop (+ i 1) (* result i)))))
(define (digit-sum n)
  (let loop ((chars (string->list (number->string n))) (total 0))
    (if (null? chars)
        total
        (loop (cdr chars) (+ total (- (char->integer (car chars)) 48))))))
(display (let loop ((i 0) (total 0))
           (if (= i 20) total (loop (+ i 1) (+ total (digit-sum (factorial 1000)))))))
(newline)

; Takeuchi's function.
(define (tak x y z)
  (if (not (< y x))
      z
      (tak (tak (- x 1) y z) (tak (- y 1) z x) (tak (- z 1) x y))))
(display (let loop ((i 0) (result 0))
           (if (< i 10) (loop (+ i 1) (tak 18 12 6)) result)))
(newline)

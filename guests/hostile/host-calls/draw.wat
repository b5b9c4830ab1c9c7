;;! Calls the host many times for almost nothing.
(component
  (import "wasi:random/random@0.2.0" (instance $random
    (export "get-random-u64" (func (result u64)))))
  (core func $draw (canon lower (func $random "get-random-u64")))
  (core module $m
    (import "" "draw" (func $draw (result i64)))
    (func (export "draw") (param $n i32)
      (loop $again
        (if (local.get $n) (then
          (drop (call $draw))
          (local.set $n (i32.sub (local.get $n) (i32.const 1)))
          (br $again))))))
  (core instance $i (instantiate $m (with "" (instance (export "draw" (func $draw))))))
  (func (export "draw") (param "times" u32) (canon lift (core func $i "draw"))))

;;! Loops: a counted one whose fuel is exact, one that never ends, one that recurses.
(component
  (core module $m
    (func (export "turns") (param $n i32) (result i32)
      (local $i i32)
      (block $done
        (loop $again
          (br_if $done (i32.ge_u (local.get $i) (local.get $n)))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $again)))
      (local.get $i))
    (func (export "forever") (loop $again (br $again)))
    (func $deeper (export "deeper") (param $n i64) (result i64)
      (i64.add (local.get $n) (call $other (i64.add (local.get $n) (i64.const 1)))))
    ;; Many locals alive over the call make the frame big.
    (func $other (param $n i64) (result i64)
      (local $a i64) (local $b i64) (local $c i64) (local $d i64)
      (local.set $a (i64.mul (local.get $n) (i64.const 3)))
      (local.set $b (i64.mul (local.get $a) (i64.const 5)))
      (local.set $c (i64.mul (local.get $b) (i64.const 7)))
      (local.set $d (i64.mul (local.get $c) (i64.const 9)))
      (i64.add
        (call $deeper (local.get $n))
        (i64.add (i64.add (local.get $a) (local.get $b)) (i64.add (local.get $c) (local.get $d))))))
  (core instance $i (instantiate $m))
  (func (export "turns") (param "turns" u32) (result u32)
    (canon lift (core func $i "turns")))
  (func (export "forever") (canon lift (core func $i "forever")))
  (func (export "deeper") (param "from" u64) (result u64)
    (canon lift (core func $i "deeper"))))

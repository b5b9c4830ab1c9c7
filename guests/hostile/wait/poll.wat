;;! Waits on one timer named many times in one list, or asks about it over and over.
(component
  (import "wasi:io/poll@0.2.0" (instance $poll
    (export "pollable" (type $pollable (sub resource)))
    (export "poll" (func (param "in" (list (borrow $pollable))) (result (list u32))))))
  (alias export $poll "pollable" (type $pollable))
  (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
    (alias outer 1 $pollable (type $outer))
    (export "pollable" (type $pollable (eq $outer)))
    (export "subscribe-duration" (func (param "when" u64) (result (own $pollable))))))
  (core module $memory
    (memory (export "memory") 1 1024)
    ;; One answer at a time: a small one always at the same place, a large one behind all
    ;; there is.
    (func (export "realloc") (param i32 i32 i32) (param $bytes i32) (result i32)
      (local $at i32)
      (if (i32.le_u (local.get $bytes) (i32.const 512)) (then (return (i32.const 512))))
      (local.set $at (i32.mul (memory.size) (i32.const 65536)))
      (drop (memory.grow
        (i32.add (i32.shr_u (local.get $bytes) (i32.const 16)) (i32.const 1))))
      (local.get $at)))
  (core instance $memory (instantiate $memory))
  (core func $subscribe (canon lower (func $clock "subscribe-duration")))
  (core func $poll (canon lower (func $poll "poll")
    (memory $memory "memory") (realloc (func $memory "realloc"))))
  (core module $m
    (import "" "memory" (memory 1 1024))
    (import "" "subscribe" (func $subscribe (param i64) (result i32)))
    (import "" "poll" (func $poll (param i32 i32 i32)))
    ;; How many of the list were ready.
    (func (export "many") (param $ns i64) (param $times i32) (result i32)
      (local $timer i32) (local $at i32) (local $end i32)
      (drop (memory.grow
        (i32.add (i32.shr_u (i32.mul (local.get $times) (i32.const 4)) (i32.const 16)) (i32.const 1))))
      (local.set $timer (call $subscribe (local.get $ns)))
      (local.set $at (i32.const 1024))
      (local.set $end (i32.add (local.get $at) (i32.mul (local.get $times) (i32.const 4))))
      (block $done (loop $again
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (i32.store (local.get $at) (local.get $timer))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (br $again)))
      (call $poll (i32.const 1024) (local.get $times) (i32.const 0))
      (i32.load (i32.const 4)))
    (func (export "busily") (local $timer i32)
      (local.set $timer (call $subscribe (i64.const 0)))
      (i32.store (i32.const 64) (local.get $timer))
      (loop $again
        (call $poll (i32.const 64) (i32.const 1) (i32.const 0))
        (br $again))))
  (core instance $i (instantiate $m (with "" (instance
    (export "memory" (memory $memory "memory"))
    (export "subscribe" (func $subscribe)) (export "poll" (func $poll))))))
  (func (export "many") (param "ns" u64) (param "times" u32) (result u32)
    (canon lift (core func $i "many")))
  (func (export "busily") (canon lift (core func $i "busily"))))

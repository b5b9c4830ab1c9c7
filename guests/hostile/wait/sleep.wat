;;! Waits for a timer of as many nanoseconds as asked, inside a host call.
(component
  (import "wasi:io/poll@0.2.0" (instance $poll
    (export "pollable" (type $pollable (sub resource)))
    (export "[method]pollable.block" (func (param "self" (borrow $pollable))))))
  (alias export $poll "pollable" (type $pollable))
  (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
    (alias outer 1 $pollable (type $outer))
    (export "pollable" (type $pollable (eq $outer)))
    (export "subscribe-duration" (func (param "when" u64) (result (own $pollable))))))
  (core func $subscribe (canon lower (func $clock "subscribe-duration")))
  (core func $block (canon lower (func $poll "[method]pollable.block")))
  (core module $m
    (import "" "subscribe" (func $subscribe (param i64) (result i32)))
    (import "" "block" (func $block (param i32)))
    (func (export "sleep") (param $ns i64)
      (call $block (call $subscribe (local.get $ns)))))
  (core instance $i (instantiate $m (with "" (instance
    (export "subscribe" (func $subscribe)) (export "block" (func $block))))))
  (func (export "sleep") (param "ns" u64) (canon lift (core func $i "sleep"))))

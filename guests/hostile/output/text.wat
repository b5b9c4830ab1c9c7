;;! Returns a text of as many letters as asked; or takes nested lists and does nothing.
(component
  (core module $m
    (memory (export "memory") 16)
    (func (export "text") (param $bytes i32) (result i32)
      (memory.fill (i32.const 16) (i32.const 97) (local.get $bytes))
      (i32.store (i32.const 0) (i32.const 16))
      (i32.store (i32.const 4) (local.get $bytes))
      (i32.const 0)))
  (core instance $i (instantiate $m))
  (func (export "text") (param "bytes" u32) (result string)
    (canon lift (core func $i "text") (memory $i "memory")))
  (core module $n
    (memory (export "memory") 16)
    (global $next (mut i32) (i32.const 16))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
      (local.set $at (global.get $next))
      (global.set $next (i32.add (local.get $at)
        (i32.and (i32.add (local.get 3) (i32.const 7)) (i32.const -8))))
      (local.get $at))
    (func (export "nothing") (param i32 i32)))
  (core instance $j (instantiate $n))
  (func (export "nothing") (param "items" (list (list u32)))
    (canon lift (core func $j "nothing") (memory $j "memory") (realloc (func $j "realloc")))))

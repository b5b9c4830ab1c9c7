;;! Adds up bytes, and makes as many as asked.
(component
  (core module $m
    (memory (export "memory") 1 1024)
    ;; One allocation at a time, always at the same place.
    (func (export "realloc") (param i32 i32 i32) (param $bytes i32) (result i32)
      (call $room (local.get $bytes))
      (i32.const 64))
    (func $room (param $bytes i32) (local $pages i32)
      (local.set $pages (i32.add (i32.shr_u (local.get $bytes) (i32.const 16)) (i32.const 2)))
      (if (i32.gt_u (local.get $pages) (memory.size)) (then
        (if (i32.eq (i32.const -1)
              (memory.grow (i32.sub (local.get $pages) (memory.size))))
          (then (unreachable))))))
    (func (export "sum") (param $at i32) (param $length i32) (result i64)
      (local $end i32) (local $sum i64)
      (local.set $end (i32.add (local.get $at) (local.get $length)))
      (block $done (loop $again
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $sum (i64.add (local.get $sum) (i64.load8_u (local.get $at))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $again)))
      (local.get $sum))
    (func (export "make") (param $bytes i32) (result i32)
      (call $room (local.get $bytes))
      (memory.fill (i32.const 64) (i32.const 1) (local.get $bytes))
      (i32.store (i32.const 0) (i32.const 64))
      (i32.store (i32.const 4) (local.get $bytes))
      (i32.const 0)))
  (core instance $i (instantiate $m))
  (func (export "sum") (param "data" (list u8)) (result u64)
    (canon lift (core func $i "sum") (memory $i "memory") (realloc (func $i "realloc"))))
  (func (export "make") (param "bytes" u32) (result (list u8))
    (canon lift (core func $i "make") (memory $i "memory"))))

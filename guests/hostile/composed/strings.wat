;;! Two components in one: a giver with texts in encoding FROM, a taker that wants TO and
;;! whose allocator answers REALLOC. The test puts words in the places of the capitals.
(component
  (component $Taker
    (core module $m
      (memory (export "memory") 1)
      (global $next (mut i32) (i32.const 1024))
      (func (export "realloc") (param i32 i32 i32) (param $bytes i32) (result i32)
        (local $at i32)
        (local.set $at (global.get $next))
        (global.set $next (i32.add (local.get $at)
          (i32.and (i32.add (local.get $bytes) (i32.const 7)) (i32.const -8))))
        REALLOC)
      (func (export "take") (param i32 i32) (result i32) (local.get 1)))
    (core instance $i (instantiate $m))
    (func (export "take") (param "text" string) (result u32)
      (canon lift (core func $i "take") (memory $i "memory") (realloc (func $i "realloc"))
        string-encoding=TO)))
  (instance $taker (instantiate $Taker))
  (component $Giver
    (import "take" (func $take (param "text" string) (result u32)))
    (core module $memory (memory (export "memory") 1))
    (core instance $memory (instantiate $memory))
    (core func $take (canon lower (func $take) (memory $memory "memory") string-encoding=FROM))
    (core module $m
      (import "" "memory" (memory 1))
      (import "" "take" (func $take (param i32 i32) (result i32)))
      (func (export "give") (param $raw i32) (param $pointer i32) (param $length i32) (result i32)
        (i32.store (i32.const 16) (local.get $raw))
        (call $take (local.get $pointer) (local.get $length))))
    (core instance $i (instantiate $m (with "" (instance
      (export "memory" (memory $memory "memory")) (export "take" (func $take))))))
    ;; Four raw bytes at 16, then a text from POINTER on, of LENGTH units.
    (func (export "give") (param "raw" u32) (param "pointer" u32) (param "length" u32) (result u32)
      (canon lift (core func $i "give"))))
  (instance $giver (instantiate $Giver (with "take" (func $taker "take"))))
  (alias export $giver "give" (func $give))
  (export "give" (func $give)))

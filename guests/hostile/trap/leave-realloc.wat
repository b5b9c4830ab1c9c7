;;! Calls an import while the host asks it for room, which it must not.
(component
  (import "wasi:random/random@0.2.0" (instance $random
    (export "get-random-u64" (func (result u64)))))
  (core func $draw (canon lower (func $random "get-random-u64")))
  (core module $m
    (import "" "draw" (func $draw (result i64)))
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (drop (call $draw))
      (i32.const 8))
    (func (export "go") (param i32 i32)))
  (core instance $i (instantiate $m (with "" (instance (export "draw" (func $draw))))))
  (func (export "go") (param "text" string)
    (canon lift (core func $i "go") (memory $i "memory") (realloc (func $i "realloc")))))

;;! Exits from a function that owes a result.
(component
  (import "wasi:cli/exit@0.2.0" (instance $exit
    (export "exit" (func (param "status" (result))))))
  (core func $exit (canon lower (func $exit "exit")))
  (core module $m
    (import "" "exit" (func $exit (param i32)))
    (func (export "go") (param $status i32) (result i32)
      (call $exit (local.get $status))
      (i32.const 1)))
  (core instance $i (instantiate $m (with "" (instance (export "exit" (func $exit))))))
  (func (export "go") (param "status" (result)) (result u32)
    (canon lift (core func $i "go"))))

;;! Exits, with success, while it is instantiated.
(component
  (import "wasi:cli/exit@0.2.0" (instance $exit
    (export "exit" (func (param "status" (result))))))
  (core func $exit (canon lower (func $exit "exit")))
  (core module $m
    (import "" "exit" (func $exit (param i32)))
    (func $leave (call $exit (i32.const 0)))
    (func (export "go"))
    (start $leave))
  (core instance $i (instantiate $m (with "" (instance (export "exit" (func $exit))))))
  (func (export "go") (canon lift (core func $i "go"))))

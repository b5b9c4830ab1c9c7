;;! Returns ok from a command.
(component
  (import "wasi:cli/exit@0.2.0" (instance $exit
    (export "exit" (func (param "status" (result))))))
  (core func $exit (canon lower (func $exit "exit")))
  (core module $m
    (import "" "exit" (func $exit (param i32)))
    (func (export "run") (result i32) (i32.const 0)))
  (core instance $i (instantiate $m (with "" (instance (export "exit" (func $exit))))))
  (func $run (result (result)) (canon lift (core func $i "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command)))

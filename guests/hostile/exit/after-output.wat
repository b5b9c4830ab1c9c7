;;! A command that writes to its output, then exits with the code 3.
(component
  (import "wasi:io/error@0.2.0" (instance $error (export "error" (type (sub resource)))))
  (alias export $error "error" (type $e))
  (import "wasi:io/streams@0.2.0" (instance $streams
    (alias outer 1 $e (type $e'))
    (export "error" (type $error (eq $e')))
    (type $se' (variant (case "last-operation-failed" (own $error)) (case "closed")))
    (export "stream-error" (type $se (eq $se')))
    (export "output-stream" (type $out (sub resource)))
    (export "[method]output-stream.blocking-write-and-flush" (func
      (param "self" (borrow $out)) (param "contents" (list u8))
      (result (result (error $se)))))))
  (alias export $streams "output-stream" (type $out))
  (import "wasi:cli/stdout@0.2.0" (instance $stdout
    (alias outer 1 $out (type $out'))
    (export "output-stream" (type $out (eq $out')))
    (export "get-stdout" (func (result (own $out))))))
  (import "wasi:cli/exit@0.2.1" (instance $exit
    (export "exit-with-code" (func (param "status-code" u8)))))
  (core module $memory (memory (export "memory") 1) (data (i32.const 64) "before\n"))
  (core instance $memory (instantiate $memory))
  (core func $write (canon lower
    (func $streams "[method]output-stream.blocking-write-and-flush") (memory $memory "memory")))
  (core func $get (canon lower (func $stdout "get-stdout")))
  (core func $exit (canon lower (func $exit "exit-with-code")))
  (core module $m
    (import "" "write" (func $write (param i32 i32 i32 i32)))
    (import "" "get" (func $get (result i32)))
    (import "" "exit" (func $exit (param i32)))
    (func (export "run") (result i32)
      (call $write (call $get) (i32.const 64) (i32.const 7) (i32.const 0))
      (call $exit (i32.const 3))
      (i32.const 0)))
  (core instance $i (instantiate $m (with "" (instance
    (export "write" (func $write)) (export "get" (func $get)) (export "exit" (func $exit))))))
  (func $run (result (result)) (canon lift (core func $i "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.6" (instance $command)))

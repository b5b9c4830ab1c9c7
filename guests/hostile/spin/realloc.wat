;;! Never ends while the host asks it for room for an argument.
(component
  (core module $m
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (loop $again (br $again))
      (unreachable))
    (func (export "go") (param i32 i32)))
  (core instance $i (instantiate $m))
  (func (export "go") (param "text" string)
    (canon lift (core func $i "go") (memory $i "memory") (realloc (func $i "realloc")))))

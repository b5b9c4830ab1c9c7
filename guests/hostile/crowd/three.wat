;;! Three core instances, each with a memory of one page and a table.
(component
  (core module $m
    (memory 1)
    (table 1 funcref)
    (func (export "go") (result i32) (i32.const 3)))
  (core instance (instantiate $m))
  (core instance (instantiate $m))
  (core instance $i (instantiate $m))
  (func (export "go") (result u32) (canon lift (core func $i "go"))))

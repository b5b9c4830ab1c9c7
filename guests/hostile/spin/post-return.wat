;;! Never ends after it has returned its result, while it cleans up.
(component
  (core module $m
    (memory (export "memory") 1)
    (func (export "go") (result i32) (i32.const 0))
    (func (export "clean-up") (param i32) (loop $again (br $again))))
  (core instance $i (instantiate $m))
  (func (export "go") (result string)
    (canon lift (core func $i "go") (memory $i "memory") (post-return (func $i "clean-up")))))

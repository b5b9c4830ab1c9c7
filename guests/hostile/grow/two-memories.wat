;;! Holds two memories of two pages each, and grows the second.
(component
  (core module $m
    (memory $a 2)
    (memory $b 2)
    (func (export "grow") (param $pages i32) (result i32)
      (memory.grow $b (local.get $pages))))
  (core instance $i (instantiate $m))
  (func (export "grow") (param "pages" u32) (result s32) (canon lift (core func $i "grow"))))

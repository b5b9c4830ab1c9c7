;;! Grows its memory, from one page, and copes with a refusal or does not.
(component
  (core module $m
    (memory 1 16384)
    (func (export "grow") (param $pages i32) (result i32)
      (memory.grow (local.get $pages)))
    (func (export "grow-or-die") (param $pages i32) (result i32)
      (local $was i32)
      (local.set $was (memory.grow (local.get $pages)))
      (if (i32.eq (local.get $was) (i32.const -1)) (then (unreachable)))
      (local.get $was))
    (func (export "forever") (result i32)
      (loop $again (drop (memory.grow (i32.const 1))) (br $again))
      (unreachable)))
  (core instance $i (instantiate $m))
  (func (export "grow") (param "pages" u32) (result s32) (canon lift (core func $i "grow")))
  (func (export "grow-or-die") (param "pages" u32) (result s32)
    (canon lift (core func $i "grow-or-die")))
  (func (export "forever") (result s32) (canon lift (core func $i "forever"))))

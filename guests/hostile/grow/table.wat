;;! Grows a table of ten elements, and copes with a refusal or does not.
(component
  (core module $m
    (table $t 10 funcref)
    (func (export "grow") (param $elements i32) (result i32)
      (table.grow $t (ref.null func) (local.get $elements)))
    (func (export "grow-or-die") (param $elements i32) (result i32)
      (local $was i32)
      (local.set $was (table.grow $t (ref.null func) (local.get $elements)))
      (if (i32.eq (local.get $was) (i32.const -1)) (then (unreachable)))
      (local.get $was)))
  (core instance $i (instantiate $m))
  (func (export "grow") (param "elements" u32) (result s32) (canon lift (core func $i "grow")))
  (func (export "grow-or-die") (param "elements" u32) (result s32)
    (canon lift (core func $i "grow-or-die"))))

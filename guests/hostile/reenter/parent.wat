;;! Calls a component inside it, which calls back into the one it was called from.
(component
  (core module $back (func (export "back")))
  (core instance $back (instantiate $back))
  (func $back (canon lift (core func $back "back")))
  (component $Child
    (import "back" (func $back))
    (core func $back' (canon lower (func $back)))
    (core module $m
      (import "" "back" (func $back))
      (func (export "call-back") (call $back)))
    (core instance $i (instantiate $m (with "" (instance (export "back" (func $back'))))))
    (func (export "call-back") (canon lift (core func $i "call-back"))))
  (instance $child (instantiate $Child (with "back" (func $back))))
  (core func $call-back (canon lower (func $child "call-back")))
  (core module $m
    (import "" "call-back" (func $call-back))
    (func (export "call-back") (call $call-back))
    (func (export "keep-quiet")))
  (core instance $i (instantiate $m (with "" (instance (export "call-back" (func $call-back))))))
  (func (export "call-back") (canon lift (core func $i "call-back")))
  (func (export "keep-quiet") (canon lift (core func $i "keep-quiet"))))

;;! Traps while it is instantiated.
(component
  (core module $m
    (func $no (unreachable))
    (func (export "go"))
    (start $no))
  (core instance $i (instantiate $m))
  (func (export "go") (canon lift (core func $i "go"))))

;;! Never ends while it is instantiated.
(component
  (core module $m
    (func $forever (loop $again (br $again)))
    (func (export "go"))
    (start $forever))
  (core instance $i (instantiate $m))
  (func (export "go") (canon lift (core func $i "go"))))

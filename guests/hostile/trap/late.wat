;;! Traps when it believes to be done: after returning, and in a destructor.
(component
  (core module $dtor (func (export "dtor") (param i32) (unreachable)))
  (core instance $dtor (instantiate $dtor))
  (type $r (resource (rep i32) (dtor (func $dtor "dtor"))))
  (core func $new (canon resource.new $r))
  (core func $drop (canon resource.drop $r))
  (core module $m
    (import "" "new" (func $new (param i32) (result i32)))
    (import "" "drop" (func $drop (param i32)))
    (memory (export "memory") 1)
    (func (export "return") (result i32) (i32.const 0))
    (func (export "clean-up") (param i32) (unreachable))
    (func (export "destroy") (call $drop (call $new (i32.const 1)))))
  (core instance $i (instantiate $m
    (with "" (instance (export "new" (func $new)) (export "drop" (func $drop))))))
  (func (export "return") (result string)
    (canon lift (core func $i "return") (memory $i "memory") (post-return (func $i "clean-up"))))
  (func (export "destroy") (canon lift (core func $i "destroy"))))

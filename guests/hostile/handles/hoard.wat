;;! Makes resources of its own: keeps them all, or drops each at once.
(component
  (type $r (resource (rep i32)))
  (core func $new (canon resource.new $r))
  (core func $drop (canon resource.drop $r))
  (core module $m
    (import "" "new" (func $new (param i32) (result i32)))
    (import "" "drop" (func $drop (param i32)))
    (func (export "hoard") (param $n i32)
      (loop $again
        (if (local.get $n) (then
          (drop (call $new (local.get $n)))
          (local.set $n (i32.sub (local.get $n) (i32.const 1)))
          (br $again)))))
    (func (export "churn") (param $n i32)
      (loop $again
        (if (local.get $n) (then
          (call $drop (call $new (local.get $n)))
          (local.set $n (i32.sub (local.get $n) (i32.const 1)))
          (br $again))))))
  (core instance $i (instantiate $m
    (with "" (instance (export "new" (func $new)) (export "drop" (func $drop))))))
  (func (export "hoard") (param "count" u32) (canon lift (core func $i "hoard")))
  (func (export "churn") (param "count" u32) (canon lift (core func $i "churn"))))

;;! Is lent a resource and still holds it when its call returns.
(component
  (component $Maker
    (type $r' (resource (rep i32)))
    (export $r "r" (type $r'))
    (core func $new (canon resource.new $r'))
    (core module $m
      (import "" "new" (func $new (param i32) (result i32)))
      (func (export "make") (result i32) (call $new (i32.const 1))))
    (core instance $i (instantiate $m (with "" (instance (export "new" (func $new))))))
    (func (export "make") (result (own $r)) (canon lift (core func $i "make"))))
  (instance $maker (instantiate $Maker))
  (alias export $maker "r" (type $r))
  (component $Keeper
    (import "r" (type $r (sub resource)))
    (core module $m (func (export "keep") (param i32)))
    (core instance $i (instantiate $m))
    (func (export "keep") (param "lent" (borrow $r)) (canon lift (core func $i "keep"))))
  (instance $keeper (instantiate $Keeper (with "r" (type $r))))
  (component $Lender
    (import "r" (type $r (sub resource)))
    (import "make" (func $make (result (own $r))))
    (import "keep" (func $keep (param "lent" (borrow $r))))
    (core func $make' (canon lower (func $make)))
    (core func $keep' (canon lower (func $keep)))
    (core module $m
      (import "" "make" (func $make (result i32)))
      (import "" "keep" (func $keep (param i32)))
      (func (export "go") (call $keep (call $make))))
    (core instance $i (instantiate $m (with "" (instance
      (export "make" (func $make')) (export "keep" (func $keep'))))))
    (func (export "go") (canon lift (core func $i "go"))))
  (instance $lender (instantiate $Lender
    (with "r" (type $r))
    (with "make" (func $maker "make"))
    (with "keep" (func $keeper "keep"))))
  (alias export $lender "go" (func $go))
  (export "go" (func $go)))

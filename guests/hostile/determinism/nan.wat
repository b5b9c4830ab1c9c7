;;! Makes NaNs in several ways and returns the bits of the result.
(component
  (core module $m
    (func (export "bits") (param $way i32) (result i64)
      (if (i32.eqz (local.get $way)) (then
        (return (i64.reinterpret_f64 (f64.div (f64.const 0) (f64.const 0))))))
      (if (i32.eq (local.get $way) (i32.const 1)) (then
        (return (i64.reinterpret_f64 (f64.sqrt (f64.const -1))))))
      (if (i32.eq (local.get $way) (i32.const 2)) (then
        (return (i64.reinterpret_f64
          (f64.add (f64.reinterpret_i64 (i64.const 0xfff8dead0000beef)) (f64.const 1))))))
      (i64.reinterpret_f64 (f64.sub (f64.const inf) (f64.const inf)))))
  (core instance $i (instantiate $m))
  (func (export "bits") (param "way" u32) (result u64) (canon lift (core func $i "bits"))))

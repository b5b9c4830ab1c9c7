;;! Holds one text and a table that points at it as often as asked: small here, huge there.
(component
  (import "wasi:http/types@0.2.0" (instance $http
    (export "fields" (type $fields (sub resource)))
    (type $error' (variant (case "invalid-syntax") (case "forbidden") (case "immutable")))
    (export "header-error" (type $error (eq $error')))
    (export "[static]fields.from-list" (func
      (param "entries" (list (tuple string (list u8))))
      (result (result (own $fields) (error $error)))))))
  (core module $memory
    ;; The text, up to 1 MiB, then the table.
    (memory (export "memory") 17 1024)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (unreachable)))
  (core instance $memory (instantiate $memory))
  (core func $from-list (canon lower (func $http "[static]fields.from-list")
    (memory $memory "memory") (realloc (func $memory "realloc"))))
  (core module $m
    (import "" "memory" (memory 17 1024))
    (import "" "from-list" (func $from-list (param i32 i32 i32)))
    ;; A table of so many pairs of pointer and length, all the same.
    (func $table (param $items i32) (param $bytes i32) (local $at i32) (local $end i32)
      (memory.fill (i32.const 64) (i32.const 97) (local.get $bytes))
      (drop (memory.grow
        (i32.add (i32.div_u (i32.mul (local.get $items) (i32.const 8)) (i32.const 65536)) (i32.const 1))))
      (local.set $at (i32.const 1114112))
      (local.set $end (i32.add (local.get $at) (i32.mul (local.get $items) (i32.const 8))))
      (block $done (loop $again
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (i32.store (local.get $at) (i32.const 64))
        (i32.store offset=4 (local.get $at) (local.get $bytes))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br $again))))
    (func (export "list") (param $items i32) (param $bytes i32) (result i32)
      (call $table (local.get $items) (local.get $bytes))
      (i32.store (i32.const 0) (i32.const 1114112))
      (i32.store (i32.const 4) (local.get $items))
      (i32.const 0))
    ;; Each entry is two pairs: a name and a value.
    (func (export "give") (param $entries i32) (param $bytes i32) (result i32)
      (call $table (i32.mul (local.get $entries) (i32.const 2)) (local.get $bytes))
      (call $from-list (i32.const 1114112) (local.get $entries) (i32.const 16))
      (i32.load8_u (i32.const 16))))
  (core instance $i (instantiate $m (with "" (instance
    (export "memory" (memory $memory "memory"))
    (export "from-list" (func $from-list))))))
  (func (export "texts") (param "items" u32) (param "bytes" u32) (result (list string))
    (canon lift (core func $i "list") (memory $memory "memory")))
  (func (export "blobs") (param "items" u32) (param "bytes" u32) (result (list (list u8)))
    (canon lift (core func $i "list") (memory $memory "memory")))
  (func (export "give") (param "entries" u32) (param "bytes" u32) (result u32)
    (canon lift (core func $i "give"))))

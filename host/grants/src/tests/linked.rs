//! The linker against the table: everything in it can be linked, nothing else is.

use bindery_types::{Import, Satisfier};
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Store};

use super::call;
use crate::table::TABLE;
use crate::{CallGrants, GrantView, Grants, link, satisfier};

struct Call(CallGrants);

impl GrantView for Call {
    fn grants(&mut self) -> &mut CallGrants {
        &mut self.0
    }
}

fn import(name: &str, functions: &[&str]) -> Import {
    let name = name.parse().unwrap();
    let functions: Vec<String> = functions.iter().map(|f| (*f).to_owned()).collect();
    let satisfier = satisfier(&name, &functions);
    Import {
        name,
        functions,
        satisfier,
    }
}

#[test]
fn every_row_links_beside_every_other_in_any_version_and_twice() {
    let mut imports = Vec::new();
    for row in TABLE {
        for version in [
            "@0.2.0",
            "@0.2.6",
            "@0.1.0",
            "@0.1.0-draft",
            "@0.2.0-rc.1",
            "",
        ] {
            imports.push(import(&format!("{}{version}", row.path), &[]));
        }
    }
    let mut linker = Linker::<Call>::new(&Engine::default());
    link(&mut linker, &imports).unwrap();
}

/// Instantiates a component that imports `import` and calls its function `run`.
fn run(grants: Grants, text: &str, imports: &[Import]) -> (wasmtime::Result<String>, Call) {
    let engine = Engine::default();
    let mut linker = Linker::new(&engine);
    link(&mut linker, imports).unwrap();
    let component = Component::from_binary(&engine, &wat::parse_str(text).unwrap()).unwrap();
    let mut store = Store::new(&engine, Call(call(grants)));
    let mut attempt = || -> wasmtime::Result<String> {
        let instance = linker.instantiate(&mut store, &component)?;
        let run = instance.get_typed_func::<(), (String,)>(&mut store, "run")?;
        Ok(run.call(&mut store, ())?.0)
    };
    (attempt(), store.into_data())
}

/// Asks `wasi:config/store` for `k` and gives the text back.
const CONFIG: &str = r#"
(component
  (import "wasi:config/store@0.2.0-rc.1" (instance $store
    (type $error' (variant (case "upstream" string) (case "io" string)))
    (export "error" (type $error (eq $error')))
    (export "get" (func (param "key" string) (result (result (option string) (error $error)))))))
  (core module $memory
    (memory (export "memory") 1)
    (data (i32.const 0) "k")
    (global $next (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (local $at i32)
      (local.set $at (global.get $next))
      (global.set $next (i32.add (global.get $next)
        (i32.and (i32.add (local.get 3) (i32.const 7)) (i32.const -8))))
      (local.get $at)))
  (core instance $memory (instantiate $memory))
  (core func $get (canon lower (func $store "get")
    (memory $memory "memory") (realloc (func $memory "realloc"))))
  (core module $main
    (import "env" "memory" (memory 1))
    (import "env" "get" (func $get (param i32 i32 i32)))
    (func (export "run") (result i32)
      (call $get (i32.const 0) (i32.const 1) (i32.const 64))
      ;; ok, some, pointer and length: a string as it is returned.
      (if (i32.or (i32.load8_u (i32.const 64)) (i32.eqz (i32.load8_u (i32.const 68))))
        (then unreachable))
      (i32.const 72)))
  (core instance $main (instantiate $main (with "env" (instance
    (export "memory" (memory $memory "memory"))
    (export "get" (func $get))))))
  (func (export "run") (result string)
    (canon lift (core func $main "run") (memory $memory "memory"))))
"#;

#[test]
fn a_config_grant_gives_its_values_by_name_and_nothing_else() {
    let imports = [import("wasi:config/store@0.2.0-rc.1", &["get"])];
    let with = |values: &[(&str, &str)]| {
        let values = values
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        run(
            Grants {
                config: Some(values),
                ..Grants::default()
            },
            CONFIG,
            &imports,
        )
    };
    let (value, mut call) = with(&[("k", "v1"), ("other", "v2")]);
    assert_eq!(value.unwrap(), "v1", "C-63");
    let trace = call.0.finish().trace;
    let effects: Vec<_> = trace
        .effects()
        .iter()
        .map(|e| (e.resource.as_str(), e.bytes))
        .collect();
    assert_eq!(effects, [("config k", 2)]);
    assert!(
        with(&[("other", "v2")]).0.is_err(),
        "absent is none, and the guest traps"
    );
}

#[test]
fn what_is_not_imported_is_not_linked() {
    let (end, _) = run(Grants::default(), CONFIG, &[]);
    assert!(end.is_err(), "R-009, H12");
}

#[test]
fn an_import_the_table_does_not_satisfy_is_not_linked() {
    let unknown = Import {
        satisfier: Satisfier::Unknown { nearest: None },
        ..import("wasi:config/store@0.2.0-rc.1", &["get"])
    };
    let (end, _) = run(Grants::default(), CONFIG, &[unknown]);
    assert!(end.is_err(), "H12");
}

//! Cases U3 and D3, attacks X23 and X30: imports as they are in the binary, what satisfies
//! each, and everything that is missing in one refusal.

use bindery_artefacts::dummy;
use bindery_grants::Grants;
use bindery_inspect::{inspect, missing_imports};
use bindery_types::{Budget, ErrorType, Import, Satisfier, Shape};

fn of_text(text: &str) -> Shape {
    inspect(&wat::parse_str(text).unwrap(), &Budget::default()).unwrap()
}

fn importing(names: &[&str]) -> Shape {
    let imports: Vec<String> = names
        .iter()
        .map(|name| format!("(import \"{name}\" (instance))"))
        .collect();
    of_text(&format!("(component {})", imports.concat()))
}

fn import<'s>(shape: &'s Shape, name: &str) -> &'s Import {
    let found = shape
        .imports
        .iter()
        .find(|import| import.name.as_str() == name);
    found.unwrap_or_else(|| panic!("{name} is imported"))
}

#[test]
fn all_missing_imports_are_one_refusal_grouped_by_cause() {
    let shape = importing(&[
        "wasi:filesystem/types@0.2.6",
        "wasi:config/store@0.2.0-rc.1",
        "wasi:http/outgoing-handler@0.3.0",
        "wasi:clocks/monotonic-clok@0.2.6",
        "acme:ledger/book@1.0.0",
    ]);
    let refusal = missing_imports(&shape, |_| false).unwrap();
    assert_eq!(
        refusal.kind(),
        ErrorType::DependencyMissing,
        "U3: {refusal}"
    );
    let imports = &refusal.details()["imports"];
    assert_eq!(
        imports["not_granted"][0]["name"],
        "wasi:config/store@0.2.0-rc.1"
    );
    assert_eq!(imports["not_granted"].as_array().unwrap().len(), 1);
    assert_eq!(imports["version"][0]["wanted"], "0.3.0");
    assert!(
        !imports["version"][0]["offered"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let unknown = imports["unknown"].as_array().unwrap();
    assert_eq!(unknown.len(), 2);
    let misspelt = unknown
        .iter()
        .find(|i| i["name"] == "wasi:clocks/monotonic-clok@0.2.6");
    assert!(
        misspelt.unwrap()["nearest"]
            .as_str()
            .unwrap()
            .starts_with("wasi:clocks/monotonic-clock"),
        "{refusal}"
    );
    for name in [
        "wasi:config/store",
        "wasi:http/outgoing-handler",
        "monotonic-clok",
        "acme:ledger",
    ] {
        assert!(refusal.message().contains(name), "{name}: {refusal}");
    }
    assert!(
        !refusal.message().contains("wasi:filesystem"),
        "what is linked is not missing"
    );
    assert_eq!(refusal.details()["component"], shape.digest.to_string());
}

#[test]
fn imports_that_only_lack_a_grant_are_a_denial_and_a_grant_lifts_it() {
    let shape = importing(&["wasi:config/store@0.2.0-rc.1"]);
    let refusal = missing_imports(&shape, |_| false).unwrap();
    assert_eq!(refusal.kind(), ErrorType::PermissionDenied);
    assert_eq!(refusal.kind().exit_code(), 4);
    assert!(missing_imports(&shape, |_| true).is_none());
}

#[test]
fn an_interface_of_another_component_is_missing_until_a_capability_is_lent_for_it() {
    let shape = importing(&["acme:ledger/book"]);
    let refusal = missing_imports(&shape, |_| false).unwrap();
    assert_eq!(refusal.kind(), ErrorType::DependencyMissing);
    assert!(missing_imports(&shape, |import| Grants::default().covers(import)).is_some());
    assert!(missing_imports(&shape, |_| true).is_none());
}

#[test]
fn patch_versions_of_wasi_fit_and_drafts_and_later_lines_say_what_is_offered() {
    for version in ["0.2.0", "0.2.6", "0.2.9"] {
        let name = format!("wasi:io/streams@{version}");
        let shape = importing(&[&name]);
        let satisfier = &import(&shape, &name).satisfier;
        assert!(
            matches!(satisfier, Satisfier::Linked { .. }),
            "D3: {name}: {satisfier:?}"
        );
    }
    for version in ["0.2.0-rc-2023-11-10", "0.3.0", "0.1.0"] {
        let name = format!("wasi:io/streams@{version}");
        let shape = importing(&[&name]);
        let satisfier = &import(&shape, &name).satisfier;
        assert!(
            matches!(satisfier, Satisfier::Version { offered } if !offered.is_empty()),
            "D3: {name}: {satisfier:?}"
        );
    }
    let mixed = importing(&["wasi:io/streams@0.2.0", "wasi:io/poll@0.2.6"]);
    assert!(
        missing_imports(&mixed, |_| false).is_none(),
        "D3: mixed patch versions"
    );
}

/// H13: read from the binary, nested instances too.
#[test]
fn functions_are_those_the_binary_names_instances_inside_instances_too() {
    let shape = of_text(
        "(component (import \"acme:a/b\" (instance
            (export \"two\" (func)) (export \"one\" (func))
            (export \"inner\" (instance (export \"three\" (func)))))))",
    );
    assert_eq!(
        import(&shape, "acme:a/b").functions,
        ["inner/three", "one", "two"]
    );
}

/// H13, X30: a component inside imports nothing by itself.
#[test]
fn an_import_of_a_component_inside_has_to_come_from_outside() {
    let shape = of_text(
        "(component
            (import \"acme:a/b\" (instance $b (export \"f\" (func))))
            (component $inner (import \"acme:hidden/c\" (instance (export \"f\" (func)))))
            (instance (instantiate $inner (with \"acme:hidden/c\" (instance $b)))))",
    );
    let names: Vec<&str> = shape
        .imports
        .iter()
        .map(|import| import.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["acme:a/b"],
        "X30: what the inner one gets is what the outer one imports"
    );
    assert!(missing_imports(&shape, |_| false).is_some());
}

#[test]
fn modules_components_and_resources_from_outside_are_unknown_and_type_definitions_are_free() {
    let shape = of_text(
        "(component
            (import \"acme:m/m\" (core module))
            (import \"acme:c/c\" (component))
            (import \"res\" (type (sub resource)))
            (type $u u32) (import \"id\" (type (eq $u))))",
    );
    let names: Vec<&str> = shape
        .imports
        .iter()
        .map(|import| import.name.as_str())
        .collect();
    assert_eq!(names, ["acme:c/c", "acme:m/m", "res"]);
    for import in &shape.imports {
        assert!(
            matches!(import.satisfier, Satisfier::Unknown { .. }),
            "{import:?}"
        );
    }
}

#[test]
fn a_version_of_this_projects_own_wit_that_is_not_this_one_is_refused_by_name() {
    let shape = importing(&["bindery:runtime/log@0.9.0"]);
    let refusal = missing_imports(&shape, |_| true).unwrap();
    assert!(
        refusal.message().contains("bindery:runtime/log@0.9.0"),
        "R-022: {refusal}"
    );
    assert_eq!(
        refusal.details()["imports"]["version"][0]["offered"][0],
        "0.1.0"
    );
}

#[test]
fn functions_with_resources_are_listed_with_the_reason() {
    let wit = "package ex:q@1.0.0;
        interface q { resource cursor { next: func() -> option<string>; } open: func(s: string) -> cursor; peek: func(c: borrow<cursor>) -> u8; plain: func() -> u8; }
        world w { export q; }";
    let shape = inspect(&dummy(wit).unwrap(), &Budget::default()).unwrap();
    let reason = |name: &str| {
        let function = shape.resolve(name).unwrap();
        function.uncallable.as_ref().map(ToString::to_string)
    };
    assert_eq!(reason("plain"), None);
    assert!(reason("open").unwrap().contains("resource `cursor`"), "A5");
    assert!(reason("peek").unwrap().contains("resource `cursor`"), "A5");
    assert!(
        reason("[method]cursor.next").unwrap().contains("`cursor`"),
        "A5"
    );
}

#[test]
fn names_that_differ_only_in_case_and_names_that_no_one_can_type_are_refused() {
    let exports = |names: [&str; 2]| {
        let [a, b] = names.map(|name| format!("(export \"{name}\" (func $f))"));
        let text = format!(
            "(component (core module $m (func (export \"f\"))) (core instance $i (instantiate $m)) (func $f (canon lift (core func $i \"f\"))) {a} {b})"
        );
        inspect(&wat::parse_str(text).unwrap(), &Budget::default())
    };
    assert_eq!(exports(["go", "went"]).unwrap().functions.len(), 2);
    exports(["go", "GO"]).unwrap_err();
    exports(["go", "gо"]).unwrap_err();
    exports(["go", "g\u{200b}o"]).unwrap_err();
    let long = "a".repeat(600);
    let refusal = exports(["go", &long]).unwrap_err();
    assert_eq!(refusal.details()["kind"], "name", "{refusal}");
    assert!(refusal.message().len() < 600, "the name is cut: {refusal}");
}

#[test]
fn a_valid_component_that_wit_cannot_describe_is_inspected_all_the_same() {
    // The WIT tools' reader asserts that a function has a plain name.
    let text = "(component (core module $m (func (export \"f\"))) (core instance $i (instantiate $m)) (func $f (canon lift (core func $i \"f\"))) (export \"a:b/c\" (func $f)))";
    let shape = of_text(text);
    assert_eq!(shape.functions[0].name.to_string(), "#a:b/c");
}

#[test]
fn a_component_that_exports_nothing_has_an_empty_shape() {
    let shape = of_text("(component)");
    assert!(shape.functions.is_empty() && shape.imports.is_empty() && shape.types.is_empty());
    assert!(missing_imports(&shape, |_| false).is_none());
}

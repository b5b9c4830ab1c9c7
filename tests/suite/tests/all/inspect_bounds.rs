//! Cases A9, B7 (b), B8 and attacks X16, X17: what is too much is refused by the name of
//! its bound before anything is compiled, and what is just not too much is not.

use bindery_inspect::inspect;
use bindery_types::{Budget, ErrorType, Refusal, Shape};

fn of_text(text: &str) -> Result<Shape, Refusal> {
    inspect(&wat::parse_str(text).unwrap(), &Budget::default())
}

#[track_caller]
fn check_bound(refusal: &Refusal, bound: &str) {
    assert_eq!(refusal.kind(), ErrorType::ComponentInvalid, "{refusal}");
    assert_eq!(refusal.details()["bound"], bound, "{refusal}");
    let limit = refusal.details()["limit"].to_string();
    assert!(refusal.message().contains(&limit), "{refusal}");
}

/// A component that exports `f` with one parameter of the last of `types`.
fn with_types(types: &str, last: usize) -> String {
    format!(
        "(component {types}
           (core module $m (memory (export \"m\") 1) (func (export \"r\") (param i32 i32 i32 i32) (result i32) unreachable) (func (export \"f\") (param i32 i32) unreachable))
           (core instance $i (instantiate $m))
           (func $f (param \"v\" {last}) (canon lift (core func $i \"f\") (memory (core memory $i \"m\")) (realloc (core func $i \"r\"))))
           (export \"f\" (func $f)))"
    )
}

fn nested_lists(depth: usize) -> String {
    let mut types = "(type (list string))".to_owned();
    (1..depth).for_each(|at| types.push_str(&format!("(type (list {}))", at - 1)));
    with_types(&types, depth - 1)
}

#[test]
fn a_type_64_levels_deep_is_accepted_and_one_more_names_the_depth() {
    // The string inside is a level of its own.
    let shape = of_text(&nested_lists(63)).unwrap();
    assert_eq!(shape.types.depth(shape.functions[0].params[0].ty), 64);
    for depth in [64, 150] {
        let refusal = of_text(&nested_lists(depth)).unwrap_err();
        assert_eq!(refusal.details()["kind"], "type_depth", "B7 (b): {refusal}");
        assert_eq!(refusal.details()["limit"], 64);
        assert!(refusal.message().contains("64"), "{refusal}");
    }
}

#[test]
fn a_tower_of_shared_types_is_refused_or_stays_as_small_as_its_text() {
    let tower = |levels: usize| {
        let mut types = "(type (tuple u8 u16))".to_owned();
        (1..levels).for_each(|at| types.push_str(&format!("(type (tuple {0} {0}))", at - 1)));
        // Behind a list, so that parameters are not flattened.
        types.push_str(&format!("(type (list {}))", levels - 1));
        with_types(&types, levels)
    };
    let small = of_text(&tower(16)).unwrap();
    assert_eq!(small.types.len(), 19, "X17: one node a level");
    assert_eq!(
        of_text(&tower(60)).unwrap_err().details()["kind"],
        "invalid"
    );
}

#[test]
fn flags_with_33_labels_are_refused_by_the_name_of_their_type() {
    let flags = |labels: usize| {
        let labels: Vec<String> = (0..labels).map(|at| format!("\"l{at}\"")).collect();
        format!(
            "(type $p (flags {})) (export $perms \"perms\" (type $p))",
            labels.join(" ")
        )
    };
    of_text(&format!("(component {})", flags(32))).unwrap();
    for text in [
        format!("(component {})", flags(33)),
        format!("(component (component {}))", flags(33)),
        format!(
            "(component (type (instance {})))",
            flags(33).replace(
                "$perms \"perms\" (type $p)",
                "\"perms\" (type $perms (eq $p))"
            )
        ),
    ] {
        let refusal = of_text(&text).unwrap_err();
        assert_eq!(refusal.details()["kind"], "flags", "A9: {refusal}");
        assert_eq!(refusal.details()["type"], "perms");
        assert_eq!(refusal.details()["found"], 33);
        assert!(refusal.message().contains("`perms`"), "{refusal}");
    }
}

#[test]
fn types_declared_inside_types_cannot_overflow_the_stack() {
    let nested = |levels: usize| {
        // An instance type with one declaration, which is a type, and so on; the
        // innermost has none.
        let mut types = [0x42, 0x01, 0x01].repeat(levels - 1);
        types.extend([0x42, 0x00]);
        let mut bytes = b"\0asm\x0d\0\x01\0\x07".to_vec();
        let mut size = types.len() + 1;
        while size >= 0x80 {
            bytes.push(u8::try_from(size & 0x7f).unwrap() | 0x80);
            size >>= 7;
        }
        bytes.push(u8::try_from(size).unwrap());
        bytes.push(1);
        bytes.extend(types);
        inspect(&bytes, &Budget::default())
    };
    nested(32).unwrap();
    check_bound(
        &nested(33).unwrap_err(),
        "levels of nested components or types",
    );
    check_bound(
        &nested(1_000_000).unwrap_err(),
        "levels of nested components or types",
    );
}

#[test]
fn components_inside_components_are_bounded() {
    let nested = |levels: usize| {
        of_text(&format!(
            "{}{}",
            "(component ".repeat(levels + 1),
            ")".repeat(levels + 1)
        ))
    };
    nested(32).unwrap();
    check_bound(
        &nested(33).unwrap_err(),
        "levels of nested components or types",
    );
}

/// X16, B8: the compiler never sees it.
#[test]
fn one_enormous_function_is_refused_before_it_is_compiled() {
    let body = |bytes: usize| {
        of_text(&format!(
            "(component (core module (func {})))",
            "nop ".repeat(bytes)
        ))
    };
    body(1 << 19).unwrap();
    check_bound(&body(2_000_000).unwrap_err(), "bytes of one function body");
}

/// X16: both make register allocation slow.
#[test]
fn locals_and_nested_blocks_of_a_function_are_bounded() {
    let locals = |count: usize| {
        of_text(&format!(
            "(component (core module (func (local {}))))",
            "i32 ".repeat(count)
        ))
    };
    locals(20_000).unwrap();
    check_bound(&locals(50_000).unwrap_err(), "locals of one function");
    let blocks = |depth: usize| {
        of_text(&format!(
            "(component (core module (func {} {})))",
            "block ".repeat(depth),
            "end ".repeat(depth)
        ))
    };
    blocks(4_000).unwrap();
    check_bound(
        &blocks(100_000).unwrap_err(),
        "nested blocks of one function",
    );
}

#[test]
fn ten_thousand_functions_fit_and_a_hundred_thousand_more_do_not() {
    let functions = |count: usize| {
        of_text(&format!(
            "(component (core module {}))",
            "(func)".repeat(count)
        ))
    };
    functions(50_000).unwrap();
    check_bound(&functions(100_001).unwrap_err(), "core functions");
    let exported = |count: usize| {
        let mut text = "(component (core module $m (func (export \"f\"))) (core instance $i (instantiate $m)) (func $f (canon lift (core func $i \"f\")))".to_owned();
        (0..count).for_each(|at| text.push_str(&format!("(export \"f{at}\" (func $f))")));
        of_text(&(text + ")"))
    };
    assert_eq!(exported(10_000).unwrap().functions.len(), 10_000);
    check_bound(&exported(10_001).unwrap_err(), "exported functions");
}

/// H16, R-016: what no call may have is no start of one.
#[test]
fn memories_and_tables_larger_than_a_slot_are_refused() {
    of_text("(component (core module (memory 16384)))").unwrap();
    check_bound(
        &of_text("(component (core module (memory 16385)))").unwrap_err(),
        "bytes of one memory",
    );
    of_text("(component (core module (table 131072 funcref)))").unwrap();
    check_bound(
        &of_text("(component (core module (table 131073 funcref)))").unwrap_err(),
        "elements of one table",
    );
    check_bound(
        &of_text(&format!(
            "(component (core module {}))",
            "(memory 0)".repeat(65)
        ))
        .unwrap_err(),
        "memories",
    );
}

#[test]
fn a_component_that_is_nearly_all_custom_sections_is_read_without_them() {
    let mut bytes = wat::parse_str("(component)").unwrap();
    let section = |bytes: &mut Vec<u8>, name: &str, size: usize| {
        bytes.push(0);
        let mut left = size + name.len() + 1;
        while left >= 0x80 {
            bytes.push(u8::try_from(left & 0x7f).unwrap() | 0x80);
            left >>= 7;
        }
        bytes.push(u8::try_from(left).unwrap());
        bytes.push(u8::try_from(name.len()).unwrap());
        bytes.extend_from_slice(name.as_bytes());
        bytes.resize(bytes.len() + size, 0x20);
    };
    section(&mut bytes, "ballast", 32 << 20);
    inspect(&bytes, &Budget::default()).unwrap();
    section(&mut bytes, "package-docs", 2 << 20);
    let refusal = inspect(&bytes, &Budget::default()).unwrap_err();
    check_bound(&refusal, "bytes of one documentation or producers section");
}

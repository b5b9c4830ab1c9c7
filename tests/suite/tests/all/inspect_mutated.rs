//! I35: bytes of any kind end in a shape or a refusal, never in a panic, and never take
//! longer than what they are.

use std::sync::LazyLock;

use bindery_artefacts::dummy;
use bindery_inspect::{inspect, missing_imports, outline};
use bindery_types::Budget;
use proptest::prelude::*;

static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    dummy(
        "package ex:m@0.1.0;
        interface t { record r { a: list<u8>, b: option<string> } flags f { x, y } variant v { a(r), b } resource q { n: func() -> v; } }
        interface api { use t.{r, v, f, q}; go: func(a: r, b: v) -> result<f, string>; open: func() -> q; }
        world w { import t; export api; }",
    )
    .unwrap()
});

fn look(bytes: &[u8]) {
    let budget = Budget::default();
    if let Ok(shape) = inspect(bytes, &budget) {
        let _ = missing_imports(&shape, |_| true);
    }
    let _ = outline(bytes, &budget);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_bytes_end_in_a_refusal(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        look(&bytes);
        let mut component = b"\0asm\x0d\0\x01\0".to_vec();
        component.extend_from_slice(&bytes);
        look(&component);
    }

    #[test]
    fn a_component_with_bytes_changed_ends_in_a_shape_or_a_refusal(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = WHOLE.clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        look(&bytes);
    }

    /// I35, R-018: no byte ends the process.
    #[test]
    fn a_component_with_parts_cut_out_or_doubled_ends_in_a_shape_or_a_refusal(
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        doubled in any::<bool>(),
    ) {
        let (from, to) = (from.index(WHOLE.len()), to.index(WHOLE.len()));
        let (from, to) = (from.min(to), from.max(to));
        let mut bytes = WHOLE.clone();
        let part: Vec<u8> = bytes.drain(from..to).collect();
        if doubled {
            bytes.splice(from..from, part.iter().chain(&part).copied());
        }
        look(&bytes);
    }
}

//! I4: scopes are a lattice, and nothing that narrows one leaves it.

use bindery_policy::{Access, Keys, Scope, ScopeRequest, Slice, UrlPrefix, Wish};
use bindery_types::{GrantName, Limit, LimitName};
use proptest::prelude::*;

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![Just(Access::ReadOnly), Just(Access::ReadWrite)]
}

fn names() -> impl Strategy<Value = std::collections::BTreeSet<Box<str>>> {
    proptest::collection::btree_set("[ab]{1,2}".prop_map(Into::into), 1..4)
}

fn url() -> impl Strategy<Value = UrlPrefix> {
    let host = prop_oneof![
        Just("a.example.com"),
        Just("*.example.com"),
        Just("b.example.com:8443")
    ];
    let path = prop_oneof![
        Just("/"),
        Just("/v1"),
        Just("/v1/"),
        Just("/v1/x"),
        Just("/v2")
    ];
    (host, path).prop_map(|(host, path)| format!("https://{host}{path}").parse().unwrap())
}

fn slice() -> impl Strategy<Value = Slice> {
    let path = prop_oneof![Just(""), Just("a"), Just("a/b"), Just("ab"), Just("b")];
    let methods = proptest::collection::btree_set(
        prop_oneof![Just("GET".into()), Just("HEAD".into()), Just("POST".into())],
        1..3,
    );
    let keys = prop_oneof![Just(Keys::Granted), names().prop_map(Keys::Only)];
    prop_oneof![
        (access(), path).prop_map(|(access, path)| Slice::Directory {
            access,
            path: path.parse().unwrap()
        }),
        (methods, url()).prop_map(|(methods, url)| Slice::Endpoint { methods, url }),
        (access(), keys).prop_map(|(access, keys)| Slice::Store { access, keys }),
        names().prop_map(|keys| Slice::Config { keys }),
        Just(Slice::Clock),
        Just(Slice::Random),
    ]
}

fn grant() -> impl Strategy<Value = GrantName> {
    prop_oneof![Just("g"), Just("h"), Just("i")].prop_map(|name| name.parse().unwrap())
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![(0_u64..4).prop_map(Limit::Finite), Just(Limit::Unlimited)]
}

prop_compose! {
    fn scope()(
        slices in proptest::collection::btree_map(grant(), slice(), 0..4),
        fuel in proptest::option::of(limit()),
        output in proptest::option::of(limit()),
        ttl in proptest::option::of(0_u64..5),
    ) -> Scope {
        let mut scope = Scope::of(slices);
        for (name, limit) in [(LimitName::Fuel, fuel), (LimitName::Output, output)] {
            scope = limit.map_or(scope.clone(), |limit| scope.limited(name, limit));
        }
        ttl.map_or(scope.clone(), |ttl| scope.lasting(ttl))
    }
}

prop_compose! {
    fn wish()(
        access in proptest::option::of(access()),
        path in proptest::option::of(prop_oneof![Just(""), Just("a"), Just("a/b")]),
        methods in proptest::option::of(proptest::collection::btree_set(prop_oneof![Just("GET".into()), Just("DELETE".into())], 0..3)),
        url in proptest::option::of(url()),
        keys in proptest::option::of(names()),
        kind in 0..5,
    ) -> Wish {
        let none = Wish::default();
        match kind {
            0 => Wish { access, path: path.map(|path| path.parse().unwrap()), ..none },
            1 => Wish { methods, url: url.map(|url| url.to_string()), ..none },
            2 => Wish { access, keys, ..none },
            3 => none,
            _ => Wish { access, path: path.map(|path| path.parse().unwrap()), methods, url: url.map(|url| url.to_string()), keys },
        }
    }
}

prop_compose! {
    fn request()(
        grants in proptest::option::of(proptest::collection::btree_map(grant(), wish(), 0..3)),
        fuel in proptest::option::of(0_u64..4),
        ttl_ms in proptest::option::of(0_u64..5),
    ) -> ScopeRequest {
        let budget = fuel.map(|fuel| ("fuel".to_owned(), fuel.to_string())).into_iter().collect();
        ScopeRequest { grants, budget, ttl_ms }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn i4_meet_is_commutative_associative_and_idempotent(a in scope(), b in scope(), c in scope()) {
        prop_assert_eq!(a.meet(&b), b.meet(&a));
        prop_assert_eq!(a.meet(&b).meet(&c), a.meet(&b.meet(&c)));
        prop_assert_eq!(a.meet(&a), a.clone());
    }

    #[test]
    fn i4_meet_is_the_greatest_scope_within_both(a in scope(), b in scope(), c in scope()) {
        let met = a.meet(&b);
        prop_assert!(a.contains(&met) && b.contains(&met));
        if a.contains(&c) && b.contains(&c) {
            prop_assert!(met.contains(&c));
        }
        prop_assert_eq!(a.contains(&b), a.meet(&b) == b);
    }

    #[test]
    fn i4_containment_is_an_order(a in scope(), b in scope(), c in scope()) {
        prop_assert!(a.contains(&a));
        if a.contains(&b) && b.contains(&a) {
            prop_assert_eq!(&a, &b);
        }
        let (inner, outer) = (a.meet(&b).meet(&c), a.meet(&b));
        prop_assert!(outer.contains(&inner) && a.contains(&inner));
    }

    #[test]
    fn i4_r_493_what_is_narrowed_stays_within(a in scope(), first in request(), second in request()) {
        if let Ok(once) = a.narrow(&first) {
            prop_assert!(a.contains(&once));
            if let Ok(twice) = once.narrow(&second) {
                prop_assert!(once.contains(&twice) && a.contains(&twice));
            }
        }
    }
}

#[test]
fn r_495_the_empty_scope_holds_nothing_and_is_within_every_one() {
    let some = Scope::of([("g".parse().unwrap(), Slice::Clock)]);
    let none = Scope::default();
    assert!(some.contains(&none) && !none.contains(&some));
    assert_eq!(none.meet(&some), none);
}

#[test]
fn there_is_no_word_for_everything_in_a_scope() {
    for text in [
        r#"{"grants": "*"}"#,
        r#"{"grants": {"*": {}}}"#,
        r#"{"grants": {"g": "*"}}"#,
        r#"{"all": true}"#,
    ] {
        assert!(
            serde_json::from_str::<ScopeRequest>(text).is_err(),
            "R-495: {text}"
        );
    }
}

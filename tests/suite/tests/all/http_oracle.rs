//! Endpoint grants against a slow second reading of the cases (C2, C3): for generated
//! grants and requests, what leaves the host is exactly what the oracle lets pass.
//!
//! Rule: the oracle is written from the text of the cases, in another way than the host:
//! it decodes and resolves the whole URL first and only then asks whether anything changed.

use bindery_sandbox::Cancel;
use bindery_types::LimitName;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::http_servers::{FakeNetwork, answer, budget, call, grants_through, order};

const PUBLIC: &str = "93.184.215.14";

/// A grant in its parts.
#[derive(Clone, Debug)]
struct Granted {
    methods: Vec<&'static str>,
    scheme: &'static str,
    /// The first label may be `*`.
    labels: Vec<&'static str>,
    port: Option<u16>,
    segments: Vec<&'static str>,
    slash: bool,
}

/// A request as it is written.
#[derive(Clone, Debug)]
struct Asked {
    method: &'static str,
    scheme: &'static str,
    authority: String,
    path: String,
}

impl Granted {
    fn text(&self) -> String {
        let port = self.port.map_or(String::new(), |port| format!(":{port}"));
        let mut path: String = self
            .segments
            .iter()
            .map(|segment| format!("/{segment}"))
            .collect();
        if self.slash || path.is_empty() {
            path.push('/');
        }
        let host = self.labels.join(".");
        format!(
            "{} {}://{host}{port}{path}",
            self.methods.join(","),
            self.scheme
        )
    }
}

/// What the cases say, read slowly.
fn oracle(granted: &Granted, asked: &Asked) -> bool {
    granted.methods.contains(&asked.method)
        && granted.scheme == asked.scheme
        && same_place(granted, asked)
        && below(granted, &asked.path)
}

fn default_port(scheme: &str) -> u16 {
    if scheme == "http" { 80 } else { 443 }
}

fn same_place(granted: &Granted, asked: &Asked) -> bool {
    let mut parts: Vec<&str> = asked.authority.split(':').collect();
    let port = match parts.len() {
        1 => default_port(asked.scheme),
        2 => match parts.pop().unwrap().parse() {
            Ok(port) => port,
            Err(_) => return false,
        },
        _ => return false,
    };
    let host = parts[0].to_lowercase();
    // Userinfo and anything else that is no letter, digit, dot or hyphen is no host; nor
    // is one with an empty label, such as after a dot at the end.
    let letters = host
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-');
    let mut labels: Vec<&str> = host.split('.').collect();
    if !letters
        || labels.contains(&"")
        || port != granted.port.unwrap_or(default_port(granted.scheme))
    {
        return false;
    }
    let mut wanted = granted.labels.clone();
    while let (Some(want), Some(label)) = (wanted.last(), labels.last()) {
        if *want == "*" {
            return true;
        }
        if want != label {
            return false;
        }
        wanted.pop();
        labels.pop();
    }
    wanted.is_empty() && labels.is_empty()
}

fn below(granted: &Granted, path: &str) -> bool {
    let path = path.split('?').next().unwrap();
    // Decode until nothing changes, take every `\` for `/`, drop parameters, resolve dots.
    let mut decoded = path.to_owned();
    loop {
        let again = decoded
            .replace("%2e", ".")
            .replace("%2E", ".")
            .replace("%2f", "/")
            .replace("%2F", "/")
            .replace("%5c", "\\")
            .replace("%5C", "\\");
        if again == decoded {
            break;
        }
        decoded = again;
    }
    let slashed = decoded.replace('\\', "/");
    let bare: Vec<&str> = slashed
        .split('/')
        .map(|part| part.split(';').next().unwrap())
        .collect();
    let has_dots = bare.iter().any(|part| [".", ".."].contains(part));
    if slashed != path || has_dots || path.starts_with("//") {
        return false;
    }
    let mut wanted: Vec<&str> = granted.segments.clone();
    // `/v1/` covers what is under it, `/v1` itself as well.
    let deeper = granted.slash || granted.segments.is_empty();
    let got: Vec<&str> = path.split('/').skip(1).collect();
    if deeper && got.len() <= wanted.len() {
        return false;
    }
    let rest = got.len().min(wanted.len());
    wanted.len() <= got.len()
        && wanted
            .drain(..)
            .zip(got)
            .take(rest)
            .all(|(want, got)| want == got)
}

fn a_grant() -> impl Strategy<Value = Granted> {
    let labels = prop::sample::select(vec![
        vec!["api", "test"],
        vec!["*", "example", "com"],
        vec!["a", "example", "com"],
        vec!["*", "a", "example", "com"],
        vec!["example", "com"],
    ]);
    let methods = prop::sample::select(vec![vec!["GET"], vec!["GET", "POST"], vec!["POST"]]);
    let segments =
        prop::collection::vec(prop::sample::select(vec!["v1", "v10", "a", "x%20y"]), 0..3);
    let scheme = prop::sample::select(vec!["http", "https"]);
    let port = prop::option::of(prop::sample::select(vec![80, 443, 8_080]));
    (methods, scheme, labels, port, segments, any::<bool>()).prop_map(
        |(methods, scheme, labels, port, segments, slash)| Granted {
            methods,
            scheme,
            labels,
            port,
            segments,
            slash,
        },
    )
}

/// Requests near a grant: its own parts with something changed in some of them.
fn near(granted: &Granted) -> BoxedStrategy<Asked> {
    let own: Vec<&str> = granted
        .labels
        .iter()
        .map(|label| if *label == "*" { "b" } else { label })
        .collect();
    let (own, parent) = (own.join("."), granted.labels[1..].join("."));
    let hosts = prop_oneof![
        6 => Just(own.clone()),
        1 => Just(own.to_uppercase()),
        1 => Just(format!("x.{own}")),
        1 => Just(parent.clone()),
        3 => prop::sample::select(vec![
            format!("evil{parent}"), format!("{own}.evil.net"), format!("{own}."), format!("{own}@evil.net"),
            format!("evil.net@{own}"), format!("a..{parent}"), format!(".{parent}"), format!("-{own}"),
        ]),
    ];
    let port = granted
        .port
        .map_or(String::new(), |port| format!(":{port}"));
    let ports = prop_oneof![5 => Just(port), 2 => prop::sample::select(vec!["", ":80", ":443", ":8080", ":0", ":"])
        .prop_map(str::to_owned)];
    let base: String = granted
        .segments
        .iter()
        .map(|segment| format!("/{segment}"))
        .collect();
    let tail = prop::collection::vec(
        prop::sample::select(vec![
            "/",
            "/x",
            "/v1",
            "/..",
            "/.",
            "/%2e%2e",
            "/%2E.",
            "\\..",
            "\\x",
            "%2f..",
            "0",
            "/...",
            "/..;a",
            "/a;b",
            "//",
            "/.well-known",
            "?q=/../",
            "%5c",
            "/%20",
            "/a%2eb",
        ]),
        0..3,
    );
    let paths = prop_oneof![
        6 => tail.clone().prop_map(move |tail| format!("{base}{}", tail.concat())),
        1 => tail.prop_map(|tail| format!("/{}", tail.concat())),
    ];
    let scheme =
        prop_oneof![5 => Just(granted.scheme), 1 => prop::sample::select(vec!["http", "https"])];
    let method = prop_oneof![
        5 => prop::sample::select(granted.methods.clone()),
        1 => prop::sample::select(vec!["GET", "POST", "get", "HEAD"]),
    ];
    (method, scheme, hosts, ports, paths)
        .prop_map(|(method, scheme, host, port, path)| {
            let path = if path.starts_with('/') {
                path
            } else {
                format!("/{path}")
            };
            Asked {
                method,
                scheme,
                authority: format!("{host}{port}"),
                path,
            }
        })
        .boxed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_leaves_is_exactly_what_a_slow_second_reading_lets_pass() {
    const GRANTS: usize = 60;
    const EACH: usize = 30;
    let mut runner = TestRunner::deterministic();
    let (mut passed, mut refused) = (0, 0);
    for _ in 0..GRANTS {
        let granted = a_grant().new_tree(&mut runner).unwrap().current();
        let near = near(&granted);
        let asked: Vec<Asked> = (0..EACH)
            .map(|_| near.new_tree(&mut runner).unwrap().current())
            .collect();
        // Whatever passes policy ends at a closed port.
        let network = FakeNetwork::new(0, &[("*", &[PUBLIC])]);
        let orders: Vec<_> = asked
            .iter()
            .map(|a| order(a.method, a.scheme, &a.authority, &a.path))
            .collect();
        let limits = budget(&[(LimitName::HttpInFlight, 64)]);
        let granted_now = grants_through(&network, &[&granted.text()]);
        let arguments = json!({ "orders": orders });
        let run = call(
            "http-driver",
            "#send-all",
            &arguments,
            granted_now,
            &limits,
            &Cancel::new(),
        )
        .await;
        for (asked, answer) in asked.iter().zip(answer(&run).as_array().unwrap()) {
            let left = answer.to_string().contains("ConnectionRefused");
            let expected = oracle(&granted, asked);
            assert_eq!(
                left,
                expected,
                "C2 C3: `{}` on {asked:?}: {answer}",
                granted.text()
            );
            if left { passed += 1 } else { refused += 1 }
        }
    }
    assert!(
        passed > 150 && refused > 150,
        "both sides are reached: {passed} passed, {refused} refused"
    );
}

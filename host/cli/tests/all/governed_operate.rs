//! What an operator does while calls run, and what a host leaves behind.

use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use bindery_artefacts::rust_guest;
use serde_json::{Value, json};

use crate::cases::path_of;
use crate::governed::{ALLOW, READ, Site, file_tools};
use crate::process::calc;

/// A call that runs, in a process of its own.
pub(crate) fn spinning(site: &Site, more: &[&str]) -> Child {
    let mut words = vec!["call", "acme:calc#spin", "--budget", "deadline=60s"];
    words.extend(["--budget", "fuel=1e12"]);
    words.extend(more);
    words.extend(["-o", "json"]);
    let child = site
        .command(&words)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while site.ok(&["host", "status"])["ledger"]["calls_running_or_uncertain"] == json!(0) {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "the call never began"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

pub(crate) fn spinning_site() -> Site {
    let mut site = Site::new(&format!(
        "{ALLOW}[ceilings]\ndeadline = \"60s\"\nfuel = \"1e12\"\n"
    ));
    site.admit(&calc());
    site.start();
    site
}

pub(crate) fn ended(child: Child) -> (Option<i32>, Value) {
    let output = child.wait_with_output().unwrap();
    let value = serde_json::from_slice(&output.stdout).unwrap();
    (output.status.code(), value)
}

/// C6.
#[test]
fn cancel_and_revoke_and_a_client_that_goes_away_reach_a_call_that_runs_r_190_i6() {
    let site = spinning_site();
    let child = spinning(&site, &[]);
    site.ok(&["session", "cancel"]);
    assert_eq!(ended(child).0, Some(130), "R-190");
    let child = spinning(&site, &[]);
    site.ok(&["revoke", "acme:calc#spin", "--reason", "stop it"]);
    let (code, value) = ended(child);
    assert_eq!(code, Some(130), "{value}");
    let (code, refused) = site.json(&["call", "acme:calc#spin"]);
    assert_eq!(
        (code, &refused["error"]["type"]),
        (4, &json!("capability_revoked"))
    );
    site.ok(&["revoke", "acme:calc#spin", "--lift"]);
    let mut child = spinning(&site, &[]);
    child.kill().unwrap();
    child.wait().unwrap();
    let begun = Instant::now();
    while site.ok(&["host", "status"])["ledger"]["calls_running_or_uncertain"] != json!(0) {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "nobody waits for it any more"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// R-060, R-066, R-501.
#[test]
fn a_policy_that_takes_away_makes_bindings_stale_and_a_wrong_one_changes_nothing_c_53() {
    let mut site = Site::new(ALLOW);
    site.admit(&file_tools());
    site.start();
    let handle = site.bind(READ, &[]);
    site.configure("[[policy.rule]]\ndecision = \"nonsense\"\n");
    let (code, refused) = site.json(&["config", "reload"]);
    assert_eq!(
        (code, &refused["error"]["type"]),
        (2, &json!("policy_malformed"))
    );
    let words = ["call", &handle, r#"{"path": "/src/a.txt"}"#];
    site.ok(&words);
    site.configure(&format!("{ALLOW}\n# another comment\n"));
    site.ok(&["config", "reload"]);
    site.ok(&words);
    site.configure("");
    // R-080, R-317: what stands in the file is nobody's rule before the host reads it.
    site.ok(&words);
    assert_eq!(site.ok(&["config", "reload"])["changed"], true);
    let (code, refused) = site.json(&words);
    assert_eq!(
        (code, &refused["error"]["type"]),
        (9, &json!("binding_stale")),
        "R-544"
    );
}

/// R-303.
#[test]
fn stages_are_switched_for_sessions_that_begin_afterwards_r_796_c_53() {
    let mut site = Site::new(ALLOW);
    site.admit(&file_tools());
    site.start();
    site.bind(READ, &[]);
    let (code, refused) = site.json(&["stages", "set", "6", "off"]);
    assert_eq!(
        (code, &refused["error"]["type"]),
        (2, &json!("policy_malformed")),
        "7 needs 6"
    );
    site.ok(&["stages", "set", "invalidation", "off"]);
    site.ok(&["stages", "set", "6", "off"]);
    site.bind(READ, &[]);
    let (code, refused) = site.json(&["bind", READ, "--session", "later"]);
    assert_eq!(
        (code, &refused["error"]["type"]),
        (4, &json!("stage_disabled"))
    );
    let (code, _) = site.json(&["stages", "set", "composition", "on"]);
    assert_eq!(code, 2, "8 needs what is off, and evidence");
    site.kill();
    site.start();
    let (code, _) = site.json(&["bind", READ]);
    assert_eq!(code, 4, "a switch outlives the host");
}

#[test]
fn a_session_fixes_its_six_fields_and_is_its_principals_own_r_299() {
    let mut site = Site::new(ALLOW);
    site.start();
    let words = ["session", "new", "--session", "work", "--mode", "read_only"];
    let shown = site.ok(&words);
    let session = &shown["session"];
    for (field, value) in [
        (
            "principal",
            format!("local:{}", rustix::process::geteuid().as_raw()),
        ),
        ("tenant", "local".to_owned()),
        ("agent", "cli".to_owned()),
        ("archetype", "default".to_owned()),
        ("mode", "read_only".to_owned()),
    ] {
        assert_eq!(session[field], value, "{field}, C-65");
    }
    assert!(session["configuration"].is_string(), "a snapshot's digest");
    assert_eq!(site.run(&words).code, 2, "it is open already");
    let foreign = [
        "session",
        "show",
        "--session",
        "work",
        "--as",
        "token:model",
    ];
    assert_eq!(site.run(&foreign).code, 4, "a name is its principal's");
    site.ok(&["session", "end", "--session", "work"]);
    assert_eq!(site.run(&["session", "show", "--session", "work"]).code, 4);
    let (code, refused) = site.json(&["session", "new", "--agent", "nobody"]);
    assert_eq!(code, 0, "an unknown agent may look: {refused}");
}

#[test]
fn policy_tests_of_an_operator_pass_and_fail_as_written() {
    let site = Site::new(ALLOW);
    std::fs::write(
        site.path("tests.toml"),
        "[[test]]\nname = \"reading is allowed\"\nexpect = \"allow\"\n\
         capability = \"acme:file-tools/files#read-file\"\ngrants = [\"source\"]\n\
         [[test]]\nname = \"others are not\"\nexpect = \"deny\"\ncapability = \"evil:x#y\"\n",
    )
    .unwrap();
    let passed = site.ok(&["policy", "test", "tests.toml"]);
    assert_eq!(
        (&passed["passed"], &passed["failed"]),
        (&json!(2), &json!(0))
    );
    std::fs::write(
        site.path("tests.toml"),
        "[[test]]\nname = \"wrong\"\nexpect = \"allow\"\ncapability = \"evil:x#y\"\n",
    )
    .unwrap();
    let (code, failed) = site.json(&["policy", "test", "tests.toml"]);
    assert_eq!((code, &failed["failed"]), (1, &json!(1)));
}

#[test]
fn what_is_no_request_is_answered_and_the_host_lives_on() {
    let mut site = Site::new(ALLOW);
    site.start();
    for bytes in [
        b"\xff\xff\xff\xff".to_vec(),
        b"\x00\x00\x00\x02{}".to_vec(),
        b"\x00\x00\x00\x05{\"a\":".to_vec(),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        Vec::new(),
    ] {
        let path = site.path(".bindery/host.sock");
        let mut stream = std::os::unix::net::UnixStream::connect(path).unwrap();
        stream.write_all(&bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        site.ok(&["host", "status"]);
    }
}

#[test]
fn a_component_on_the_shelf_that_was_changed_is_left_out_and_named() {
    let mut site = Site::new(ALLOW);
    site.admit(&file_tools());
    site.admit(&calc());
    let folder = site.path(".bindery/components");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let large = path.metadata().unwrap().len() > 100_000;
        if large {
            let mut bytes = std::fs::read(&path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            std::fs::write(&path, bytes).unwrap();
        }
    }
    site.start();
    let status = site.ok(&["host", "status"]);
    let problem = status["problems"][0].as_str().unwrap();
    assert!(problem.contains("admit the component again"), "{problem}");
    site.ok(&["call", "acme:calc#add", r#"{"a": 1, "b": 2}"#]);
    assert_eq!(
        site.json(&["describe", READ]).0,
        9,
        "R-375: not what was admitted"
    );
}

/// A server on loopback that answers and writes down the credential that it was sent.
fn server() -> (u16, std::sync::Arc<std::sync::Mutex<Vec<String>>>) {
    use std::io::BufRead;
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = std::sync::Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = std::io::BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut key) = (String::new(), String::new());
            while reader.read_line(&mut line).unwrap_or(0) > 2 {
                if let Some((name, value)) = line.split_once(": ")
                    && name.eq_ignore_ascii_case("x-api-key")
                {
                    key = value.trim().to_owned();
                }
                line.clear();
            }
            noted.lock().unwrap().push(key.clone());
            let body = format!("{{\"you-sent\": \"{key}\"}}");
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            );
        }
    });
    (port, seen)
}

/// C9, H50, R-581: injected at the edge, seen by the server, in nothing that is left.
#[test]
fn a_credential_reaches_the_server_and_nothing_that_the_host_leaves_behind_c9() {
    use std::os::unix::fs::PermissionsExt;
    const CANARY: &str = "canary-4f1c9a77d02e";
    let (port, seen) = server();
    let mut site = Site::new(&format!(
        "[grants.api]\nkind = \"endpoint\"\nurl = \"http://127.0.0.1:{port}/v1/\"\n\
         credential = \"token\"\n[credentials.token]\nfile = \"token\"\nfield = \"x-api-key\"\n\
         form = \"{{}}\"\n[[policy.rule]]\ndecision = \"allow\"\nwhy = \"the test's own server\"\n\
         namespaces = [\"acme\"]\ngrants = [\"api\"]\n"
    ));
    let http_json = path_of(&rust_guest("http-json").unwrap());
    site.admit(&http_json);
    let url = format!("{{\"url\": \"http://127.0.0.1:{port}/v1/x\"}}");
    let words = ["call", "get_json", &url];
    let (code, refused) = site.json(&words);
    assert_eq!(
        (code, &refused["error"]["type"]),
        (9, &json!("credential_missing")),
        "R-592"
    );
    std::fs::write(site.path("token"), CANARY).unwrap();
    std::fs::set_permissions(site.path("token"), PermissionsExt::from_mode(0o600)).unwrap();
    site.start();
    let printed = site.run(&["call", "get_json", &url, "-o", "json"]);
    assert_eq!(printed.code, 0, "{}{}", printed.stdout, printed.stderr);
    assert_eq!(
        seen.lock().unwrap().last().map(String::as_str),
        Some(CANARY),
        "R-581"
    );
    assert!(
        !(printed.stdout + &printed.stderr).contains(CANARY),
        "R-049"
    );
    for words in [
        &["trace"][..],
        &["ledger"],
        &["env"],
        &["describe", "get_json"],
    ] {
        let shown = site.run(&[words, &["-o", "json"]].concat());
        assert_eq!(shown.code, 0, "{words:?}: {}", shown.stdout);
        let text = shown.stdout + &shown.stderr;
        assert!(!text.contains(CANARY), "R-049, I25: {text}");
    }
    site.ok(&["host", "stop"]);
    let mut files = vec![site.path(".bindery")];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(
                std::fs::read_dir(path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if path.metadata().unwrap().is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes
                .windows(CANARY.len())
                .any(|part| part == CANARY.as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
}

#[test]
fn what_a_capability_stores_outlives_the_host_and_is_another_grants_nothing_g5() {
    let rules = "[grants.notes]\nkind = \"store\"\nstore = \"notes\"\naccess = \"read_write\"\n\
         [[policy.rule]]\ndecision = \"allow\"\nwhy = \"the test's own store\"\n\
         namespaces = [\"acme\"]\ngrants = [\"notes\"]\n";
    let mut site = Site::new(rules);
    let driver = path_of(&rust_guest("store-driver").unwrap());
    site.admit(&driver);
    site.ok(&["config", "accept-writes", "--evidence", "a test"]);
    site.start();
    let act = "acme:store-driver/driver#act";
    let words = [
        "call",
        act,
        r#"{"store": "notes", "steps": [{"increment": ["n", 1]}]}"#,
        "--scope",
        r#"{"notes": {"access": "read_write"}}"#,
    ];
    let count = |site: &Site| site.json(&words);
    let first = count(&site);
    assert_eq!(first.0, 0, "{}", first.1);
    site.kill();
    site.start();
    let second = count(&site);
    assert_eq!(second.0, 0, "{}", second.1);
    assert_ne!(first.1["value"], second.1["value"], "G5: it is durable");
}

#[test]
fn at_stage_1_what_is_registered_is_called_and_nothing_is_bound_c_51() {
    let mut site = Site::new(&format!("{ALLOW}[profile]\ndenied_tools = []\n"));
    let text = std::fs::read_to_string(site.path("bindery.toml")).unwrap();
    let text = text.replace("late_bound", "static");
    std::fs::write(site.path("bindery.toml"), text).unwrap();
    let words = [
        "admit",
        &file_tools(),
        "--namespace",
        "acme",
        "--approval",
        "no_approval",
    ];
    site.ok(&[&words[..], &["--static"]].concat());
    site.start();
    let reply = site.ok(&["call", "read_file", r#"{"path": "/src/a.txt"}"#]);
    assert_eq!(reply["value"]["text"], "one\ntwo\n");
    let (code, refused) = site.json(&["bind", READ]);
    assert_eq!(
        (code, &refused["error"]["type"]),
        (4, &json!("stage_disabled")),
        "R-796"
    );
    let (code, refused) = site.json(&["call", "absent", "{}"]);
    assert_eq!(
        (code, &refused["error"]["type"]),
        (9, &json!("capability_unavailable"))
    );
}

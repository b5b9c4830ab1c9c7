//! What a server and the system see of a run, held against what its receipt says (H24,
//! H25, I37).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use bindery_artefacts::rust_guest;
use serde_json::{Value, json};

use crate::cases::{path_of, run};
use crate::process::{bindery, calc, command, finish, folder, guest};

/// One request as a server on loopback saw it: its first line, the bytes both ways.
type Log = Arc<Mutex<Vec<(String, usize)>>>;

/// Answers every request with `answer` and writes down what it saw.
fn server(answer: &'static str) -> (u16, Log) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let log = Log::default();
    let noted = Arc::clone(&log);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // A peer that goes away is no failure of the server.
            let _ = serve(&mut stream.unwrap(), answer, &noted);
        }
    });
    (port, log)
}

fn serve(stream: &mut TcpStream, answer: &str, log: &Log) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut head, mut line) = (String::new(), String::new());
    while reader.read_line(&mut line)? > 2 {
        head += &std::mem::take(&mut line);
    }
    head += &line;
    let length = head.lines().find_map(|line| {
        line.to_ascii_lowercase()
            .strip_prefix("content-length: ")?
            .parse()
            .ok()
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let first = head.lines().next().unwrap_or_default().to_owned();
    let bytes = head.len() + body.len() + answer.len();
    log.lock().unwrap().push((first, bytes));
    stream.write_all(answer.as_bytes())
}

/// I37: what the receipt says was asked is what a real server wrote down, byte for byte,
/// and what it says was refused the server never saw.
#[test]
fn the_requests_in_the_receipt_are_those_in_the_servers_log() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{\"a\": 12}";
    let (port, log) = server(answer);
    let http_json = path_of(&rust_guest("http-json").unwrap());
    let origin = format!("http://127.0.0.1:{port}");
    let grant = format!("GET,POST {origin}/v1/");
    let ask = |function: &str, arguments: &Value| {
        let arguments = arguments.to_string();
        run(&[&http_json, function, &arguments, "--endpoint", &grant])
    };
    let url = format!("{origin}/v1/data");
    let got = ask("get-json", &json!({"url": url}));
    assert_eq!(
        got.json()["value"]["body-json"],
        "{\"a\": 12}",
        "{}",
        got.stderr
    );
    let posted = ask("post-json", &json!({"url": url, "body-json": "[1,2,3]"}));
    assert_eq!(posted.code, 0, "{}", posted.stdout);
    let refused = ask("get-json", &json!({"url": format!("{origin}/v2/data")}));
    assert_eq!(refused.code, 5, "{}", refused.stdout);
    let seen = log.lock().unwrap().clone();
    let lines: Vec<&str> = seen.iter().map(|(line, _)| line.as_str()).collect();
    assert_eq!(
        lines,
        ["GET /v1/data HTTP/1.1", "POST /v1/data HTTP/1.1"],
        "I37"
    );
    for (printed, method, (_, bytes)) in [(&got, "GET", &seen[0]), (&posted, "POST", &seen[1])] {
        let effects = &printed.json()["receipt"]["effects"];
        assert_eq!(effects.as_array().unwrap().len(), 1, "{effects}");
        let expected = json!(["request", format!("{method} {origin}"), bytes]);
        let effect = &effects[0];
        let reported = json!([effect["kind"], effect["resource"], effect["bytes"]]);
        assert_eq!(reported, expected, "I37");
    }
    let effects = &refused.json()["receipt"]["effects"];
    let expected = json!(format!("GET {origin} (refused)"));
    assert_eq!(
        (&effects[0]["resource"], &effects[0]["bytes"]),
        (&expected, &json!(0)),
        "I37"
    );
    // U1: the operator, and nobody else, reads what would allow it.
    let flag = format!("`--endpoint 'GET {origin}/v2/data'` would allow it");
    assert!(
        refused.stderr.contains("denied: GET "),
        "U1: {}",
        refused.stderr
    );
    assert!(refused.stderr.contains(&flag), "U1: {}", refused.stderr);
    let mut object = refused.json();
    let denials = object.as_object_mut().unwrap().remove("denials").unwrap();
    let denied = denials[0].as_str().unwrap();
    assert!(
        refused.stderr.contains(&format!("denied: {denied}\n")),
        "U1"
    );
    assert!(denied.contains(&flag), "U1: {denied}");
    assert!(
        !object.to_string().contains("--endpoint"),
        "U1: nothing the component had: {object}"
    );
    assert!(got.json().get("denials").is_none(), "{}", got.stdout);
    assert!(!got.stderr.contains("denied: "), "{}", got.stderr);
}

/// R-894, R-895, R-896: a denial is answered once, is no success, and what may follow is
/// no repetition.
#[test]
fn a_denied_request_is_tried_once_and_never_called_a_success() {
    let (port, log) = server("HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n");
    let http_json = path_of(&rust_guest("http-json").unwrap());
    let url = json!({"url": format!("http://127.0.0.1:{port}/x")}).to_string();
    let denied = run(&[&http_json, "get-json", &url]);
    assert_eq!(
        (denied.code, log.lock().unwrap().len()),
        (5, 0),
        "{}",
        denied.stdout
    );
    let grant = format!("http://127.0.0.1:{port}/");
    let failed = run(&[&http_json, "get-json", &url, "--endpoint", &grant]);
    assert_eq!(
        log.lock().unwrap().len(),
        1,
        "R-894: nothing is tried again by itself"
    );
    assert_eq!(failed.json()["value"]["status"], 500, "{}", failed.stdout);
    let missing = run(&[&calc(), "no-such-function"]);
    let next = &missing.json()["error"]["next"];
    assert_eq!(missing.code, 2, "R-896");
    assert!(!next.to_string().contains("retry"), "R-895: {next}");
}

/// A guest that says by its first and its last act that it runs: it grows its memory by a
/// number of pages that nobody else asks for, which the system sees.
fn marked() -> String {
    guest(
        "marked",
        r#"(component
            (core module $m
                (memory 1 1024)
                (func (export "go") (param $turns i32)
                    (drop (memory.grow (i32.const 77)))
                    (loop $again
                        (local.set $turns (i32.sub (local.get $turns) (i32.const 1)))
                        (br_if $again (local.get $turns)))
                    (drop (memory.grow (i32.const 333)))))
            (core instance $i (instantiate $m))
            (func (export "go") (param "turns" u32) (canon lift (core func $i "go"))))"#,
    )
}

/// H24, I1, R-874, R-875, R-876, R-877: from its first instruction on, a guest without
/// grants makes the process open nothing, connect to nothing and start nothing, until the
/// process ends. The marker is the growth of the guest's memory: 77 pages, then 333.
#[test]
fn once_a_guest_without_grants_runs_nothing_is_opened_connected_or_started() {
    let marked = marked();
    let words = ["run", &marked, "go", r#"{"turns": 20000000}"#];
    // Once to compile, so that the traced run only runs.
    assert_eq!(bindery(&words).code, 0);
    let log = folder().join("marked.strace");
    let mut traced = Command::new("strace");
    traced
        .args(["-f", "-o"])
        .arg(&log)
        .arg("-e")
        .arg("trace=all");
    let plain = command(&words);
    traced.arg(plain.get_program()).args(plain.get_args());
    traced.env_clear().current_dir(folder());
    traced.env("BINDERY_CACHE", folder().join("cache"));
    traced.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let printed = finish(&mut traced);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    let trace = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = trace.lines().collect();
    let grown = |pages: usize| {
        let bytes = format!(", {}, PROT_READ|PROT_WRITE", pages << 16);
        let line = lines
            .iter()
            .position(|line| line.contains("mprotect(") && line.contains(&bytes));
        line.unwrap_or_else(|| panic!("no growth by {pages} pages in the trace"))
    };
    let (first, last) = (grown(77), grown(333));
    assert!(first < last, "the guest ran between");
    const FORBIDDEN: [&str; 16] = [
        "open", "creat", "socket", "connect", "bind", "listen", "accept", "sendto", "execve",
        "execveat", "fork", "vfork", "unlink", "rename", "mkdir", "link",
    ];
    let call = |line: &str| -> Option<String> {
        let (_, rest) = line.split_once(' ')?;
        let name = rest.trim_start().split('(').next()?;
        Some(name.to_owned())
    };
    let seen: Vec<&&str> = lines
        .iter()
        .skip(first)
        .filter(|line| {
            call(line).is_some_and(|name| {
                let plain = name.trim_end_matches("at2").trim_end_matches("at");
                FORBIDDEN.contains(&plain) || FORBIDDEN.contains(&name.as_str())
            })
        })
        .collect();
    assert!(seen.is_empty(), "H24: {seen:#?}");
    // The same words before the marker are there: this test would see them.
    let before = lines.iter().take(first).filter_map(|line| call(line));
    let names: std::collections::BTreeSet<String> = before.collect();
    assert!(
        names.contains("openat") && names.contains("execve"),
        "{names:?}"
    );
}

/// H25: a write that hangs beyond its deadline ends with 10, and the process ends although
/// the system has not given the write back.
#[test]
fn a_write_that_hangs_ends_with_10_and_the_process_ends() {
    const HOLD: &str = "import fcntl, os, signal, sys\n\
        signal.signal(signal.SIGIO, signal.SIG_IGN)\n\
        held = os.open(sys.argv[1], os.O_RDONLY)\n\
        fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_RDLCK)\n\
        print('held', flush=True)\n\
        sys.stdin.read()\n";
    let top = folder().join("hangs");
    std::fs::create_dir_all(&top).unwrap();
    std::fs::write(top.join("a"), "text").unwrap();
    let mut holder = Command::new("python3")
        .args(["-c", HOLD])
        .arg(top.join("a"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let driver = path_of(&rust_guest("fs-driver").unwrap());
    let open = |flags: &str| {
        json!({"operations": [{"open-at": {
            "slot": 0, "path-flags": [], "path": "a", "open-flags": [], "flags": [flags],
        }}]})
        .to_string()
    };
    let grant = format!("{}::/g:rw", top.display());
    let drive = |operations: &str| {
        run(&[
            &driver,
            "drive",
            operations,
            "--dir",
            &grant,
            "--deadline",
            "300ms",
        ])
    };
    let read = drive(&open("read"));
    assert_eq!(read.code, 0, "a look does not wait: {}", read.stdout);
    let hangs = drive(&open("write"));
    let error = &hangs.json()["error"];
    assert_eq!(
        (hangs.code, &error["type"]),
        (10, &json!("uncertain_side_effect")),
        "H25"
    );
    assert_eq!(hangs.json()["receipt"]["exit_code"], 10);
    drop(holder.stdin.take());
    holder.wait().unwrap();
    assert_eq!(drive(&open("write")).code, 0, "H25: the next call works");
}

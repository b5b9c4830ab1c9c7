//! The host is killed at random moments while calls with effects run through it; the
//! other side of each effect is a server that counts (I17, I18, G1).

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bindery_artefacts::rust_guest;
use serde_json::{Value, json};

use crate::cases::path_of;
use crate::governed::Site;

/// How often the host is killed; each time with several calls in flight.
const KILLS: u64 = 25;
const CALLS: u64 = 3;

/// Bodies that were received, each with how often.
type Counted = Arc<Mutex<BTreeMap<String, u64>>>;

fn server() -> (u16, Counted) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let counted = Counted::default();
    let noted = Arc::clone(&counted);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, noted) = (stream.unwrap(), Arc::clone(&noted));
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut line, mut length) = (String::new(), 0);
                while reader.read_line(&mut line).unwrap_or(0) > 2 {
                    let lower = line.to_ascii_lowercase();
                    if let Some(value) = lower.strip_prefix("content-length: ") {
                        length = value.trim().parse().unwrap_or(0);
                    }
                    line.clear();
                }
                let mut body = vec![0; length];
                if reader.read_exact(&mut body).is_err() {
                    return;
                }
                let body = String::from_utf8(body).unwrap();
                *noted.lock().unwrap().entry(body).or_default() += 1;
                // The effect has happened; its answer takes a while.
                std::thread::sleep(Duration::from_millis(20));
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntrue");
            });
        }
    });
    (port, counted)
}

/// A small generator, so that a run can be repeated.
fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

fn words(port: u16, key: &str) -> Vec<String> {
    let arguments = json!({
        "url": format!("http://127.0.0.1:{port}/v1/x"), "body-json": format!("\"{key}\""),
    });
    let words = ["call", "web:http-json/http#post-json"].map(str::to_owned);
    let words = words.into_iter().chain([arguments.to_string()]);
    let rest = [
        "--idempotency-key",
        key,
        "--scope",
        r#"{"api": {}}"#,
        "-o",
        "json",
    ];
    words.chain(rest.map(str::to_owned)).collect()
}

#[test]
fn no_kill_loses_an_acknowledged_call_or_repeats_an_effect_i17_i18_g1() {
    let (port, counted) = server();
    let mut site = Site::new(&format!(
        "[grants.api]\nkind = \"endpoint\"\nmethods = [\"POST\"]\nurl = \"http://127.0.0.1:{port}/v1/\"\n\
         [[policy.rule]]\ndecision = \"allow\"\nwhy = \"the test's own server\"\n\
         namespaces = [\"web\"]\ngrants = [\"api\"]\n"
    ));
    let component = path_of(&rust_guest("http-json").unwrap());
    site.ok(&[
        "admit",
        &component,
        "--namespace",
        "web",
        "--approval",
        "no_approval",
    ]);
    site.ok(&["config", "accept-writes", "--evidence", "a test"]);
    let mut seed = 0x5eed_0b1d_u64;
    let (mut acknowledged, mut doubtful) = (Vec::new(), Vec::new());
    for round in 0..KILLS {
        site.start();
        let calls: Vec<_> = (0..CALLS)
            .map(|call| {
                let key = format!("k-{round}-{call}");
                let words = words(port, &key);
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let child = site
                    .command(&words)
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn();
                (key, child.unwrap())
            })
            .collect();
        std::thread::sleep(Duration::from_millis(next(&mut seed) % 220));
        site.kill();
        for (key, child) in calls {
            let output = child.wait_with_output().unwrap();
            let value: Value = serde_json::from_slice(&output.stdout).unwrap();
            match output.status.code() {
                Some(0) => acknowledged.push((key, value["value"].clone())),
                _ => doubtful.push(key),
            }
        }
    }
    site.start();
    let seen = counted.lock().unwrap().clone();
    assert!(seen.values().all(|count| *count == 1), "I17: {seen:?}");
    for (key, value) in &acknowledged {
        assert_eq!(seen.get(&format!("\"{key}\"")), Some(&1), "I18: {key}");
        let words = words(port, key);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let again = site.run(&words);
        assert_eq!(again.code, 0, "{}", again.stdout);
        assert_eq!(
            again.json()["value"],
            *value,
            "G1: what was acknowledged is given again"
        );
    }
    // What nobody knows does not run again by itself; what never began may.
    for key in &doubtful {
        let words = words(port, key);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        site.run(&words);
    }
    let seen = counted.lock().unwrap().clone();
    assert!(seen.values().all(|count| *count == 1), "I17: {seen:?}");
    let total = acknowledged.len() + doubtful.len();
    assert_eq!(total as u64, KILLS * CALLS);
    assert!(
        !acknowledged.is_empty() && !doubtful.is_empty(),
        "{total}: neither side is shown"
    );
}

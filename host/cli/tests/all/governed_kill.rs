//! The host process is killed at random moments, a thousand times, while calls with effects
//! run through its socket; the other side of each effect is a server that counts.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bindery_artefacts::rust_guest;
use bindery_service::{BindWish, Envelope, Place, Rendered, Request, ask};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::cases::path_of;
use crate::governed::Site;

/// Random kills in one run of the tests.
const KILLS: u64 = 1_000;
/// Of them, so many on one store.
const KILLS_PER_SITE: u64 = 50;
/// Sites at once: a host that is about to be killed mostly waits.
const LANES: u64 = 4;
/// Calls in flight at each kill.
const CALLS: u64 = 3;

const POST: &str = "web:http-json/http#post-json";

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
                if length == 0 || reader.read_exact(&mut body).is_err() {
                    return;
                }
                let body = String::from_utf8(body).unwrap();
                *noted.lock().unwrap().entry(body).or_default() += 1;
                // The effect has happened; its answer takes a while.
                std::thread::sleep(Duration::from_millis(10));
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

/// What the kills came to.
#[derive(Default)]
struct Sum {
    kills: u64,
    acknowledged: u64,
    uncertain: u64,
    reconciled_done: u64,
    reconciled_failed: u64,
    /// Recorded before the kill, and its caller had not heard of it.
    given_again: u64,
    never_began: u64,
}

/// A place with its server, and a client that speaks to the socket without a process of its
/// own.
struct Scene {
    site: Site,
    place: Place,
    port: u16,
    counted: Counted,
    client: Runtime,
}

impl Scene {
    fn new() -> Self {
        let (port, counted) = server();
        let site = Site::new(&format!(
            "[grants.api]\nkind = \"endpoint\"\nmethods = [\"POST\"]\nurl = \"http://127.0.0.1:{port}/v1/\"\n\
             [[policy.rule]]\ndecision = \"allow\"\nwhy = \"the test's own server\"\n\
             namespaces = [\"web\"]\ngrants = [\"api\"]\n"
        ));
        let component = path_of(&rust_guest("http-json").unwrap());
        let approval = "no_approval";
        let admit = ["admit", &component, "--namespace", "web", "--approval"];
        site.ok(&[&admit[..], &[approval]].concat());
        site.ok(&["config", "accept-writes", "--evidence", "a test"]);
        let place = Place::new(Some(site.path("bindery.toml")), None);
        let client = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        Self {
            site,
            place,
            port,
            counted,
            client,
        }
    }

    /// A host in a process of its own, and the line that says when it is ready.
    fn host(&self) -> (Child, BufReader<std::process::ChildStderr>) {
        let mut host = self
            .site
            .command(&["host", "start", "--foreground"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(host.stderr.take().unwrap());
        (host, said)
    }

    fn envelope(&self, request: Request) -> Envelope {
        Envelope {
            acting_as: None,
            session: "default".to_owned(),
            json: true,
            request,
        }
    }

    /// The one call of a key; without one, a call that nobody counts.
    fn call(&self, key: Option<&str>) -> Envelope {
        let arguments = json!({
            "url": format!("http://127.0.0.1:{}/v1/x", self.port),
            "body-json": format!("\"{}\"", key.unwrap_or("free")),
        });
        self.envelope(Request::Call {
            target: POST.to_owned(),
            arguments: arguments.to_string(),
            idempotency_key: key.map(str::to_owned),
            wish: BindWish {
                scope: Some(json!({ "grants": { "api": {} } })),
                ..BindWish::default()
            },
        })
    }

    /// Asks, and gives code and answer; none when there was no host, or it went away.
    fn asked(&self, envelope: &Envelope) -> Option<(u8, Value)> {
        let answer = self.client.block_on(ask(&self.place, envelope));
        answer.ok().flatten().map(|rendered| read(&rendered))
    }

    fn seen(&self, key: &str) -> u64 {
        let counted = self.counted.lock().unwrap();
        counted.get(&format!("\"{key}\"")).copied().unwrap_or(0)
    }

    /// How long a start, and then calls at once, take on this machine at this moment.
    fn pace(&self) -> (Duration, Duration) {
        let begun = Instant::now();
        let (mut host, mut said) = self.host();
        ready(&mut said);
        let started = begun.elapsed();
        let begun = Instant::now();
        let calls: Vec<_> = (0..CALLS)
            .map(|_| {
                let place = self.place.clone();
                let free = self.call(None);
                self.client.spawn(async move { ask(&place, &free).await })
            })
            .collect();
        for call in calls {
            assert!(self.client.block_on(call).unwrap().is_ok());
        }
        let called = begun.elapsed();
        host.kill().unwrap();
        host.wait().unwrap();
        (started, called)
    }

    /// One host from its start to its death; keys with what was acknowledged for each.
    fn round(
        &self,
        keys: &[String],
        (started, called): (Duration, Duration),
        seed: &mut u64,
    ) -> Vec<Option<Value>> {
        let early = next(seed).is_multiple_of(4);
        // Anywhere from the first moment to some time after the last answer.
        let within = if early { started } else { called * 2 };
        let micros = next(seed) % u64::try_from(within.as_micros()).unwrap().max(1);
        let (mut host, mut said) = self.host();
        let mut calls = Vec::new();
        if !early {
            ready(&mut said);
            for key in keys {
                let (place, envelope) = (self.place.clone(), self.call(Some(key)));
                calls.push(
                    self.client
                        .spawn(async move { ask(&place, &envelope).await }),
                );
            }
        }
        std::thread::sleep(Duration::from_micros(micros));
        host.kill().unwrap();
        host.wait().unwrap();
        let acknowledged = calls.into_iter().map(|call| {
            let answer = self.client.block_on(call).unwrap().ok().flatten()?;
            let (code, value) = read(&answer);
            (code == 0).then(|| value["value"].clone())
        });
        let acknowledged = acknowledged.collect::<Vec<_>>();
        match early {
            true => vec![None; keys.len()],
            false => acknowledged,
        }
    }

    /// The call that has this key, out of the records.
    fn call_of(&self, records: &Value, key: &str) -> String {
        let records = records["records"].as_array().unwrap().iter();
        let mut intents = records.filter_map(|record| {
            let intent = &record["entry"]["event"]["call_intent"];
            (intent["idempotency"]["key"] == key).then(|| intent["call"].clone())
        });
        let call = intents.next_back().unwrap_or_else(|| panic!("no {key}"));
        call.as_str().unwrap().to_owned()
    }

    /// After the last kill: what was acknowledged stands, what is not known is settled.
    fn settle(&self, keys: &[(String, Option<Value>)], sum: &mut Sum) {
        let (mut host, mut said) = self.host();
        ready(&mut said);
        let ledger = self.envelope(Request::Ledger {
            id: None,
            from: 1,
            count: 1_000_000,
        });
        let (_, records) = self.asked(&ledger).unwrap();
        for (key, acknowledged) in keys {
            let before = self.seen(key);
            assert!(before <= 1, "I17: {key} happened twice");
            let (code, answer) = self.asked(&self.call(Some(key))).unwrap();
            let kind = answer["error"]["type"].as_str().unwrap_or("value");
            match (acknowledged, code, kind) {
                (Some(value), 0, _) => {
                    assert_eq!(answer["value"], *value, "G1: {key}");
                    sum.acknowledged += 1;
                }
                (None, 0, _) if before == 1 => sum.given_again += 1,
                (None, 0, _) => sum.never_began += 1,
                (None, _, "uncertain_side_effect") => {
                    sum.uncertain += 1;
                    self.reconcile(&records, key, sum);
                }
                _ => panic!("{key}: {acknowledged:?} became {code} {answer}"),
            }
            assert_eq!(self.seen(key), 1, "I16, I17: {key}");
        }
        host.kill().unwrap();
        host.wait().unwrap();
    }

    fn reconcile(&self, records: &Value, key: &str, sum: &mut Sum) {
        let done = self.seen(key) > 0;
        let reconcile = self.envelope(Request::Reconcile {
            call: self.call_of(records, key),
            done,
            evidence: "the server's log".to_owned(),
        });
        let (code, answer) = self.asked(&reconcile).unwrap();
        assert_eq!(code, 0, "I17: {answer}");
        let (code, answer) = self.asked(&self.call(Some(key))).unwrap();
        if done {
            sum.reconciled_done += 1;
            let kind = &answer["error"]["type"];
            assert_eq!(kind, "idempotency_conflict", "I16: {answer}");
        } else {
            sum.reconciled_failed += 1;
            assert_eq!(code, 0, "I17: it never happened, so it may: {answer}");
        }
    }
}

/// Waits for the line that says so.
fn ready(said: &mut BufReader<std::process::ChildStderr>) {
    let mut line = String::new();
    while !line.contains("is ready") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "no host");
    }
}

fn read(rendered: &Rendered) -> (u8, Value) {
    let value = serde_json::from_str(&rendered.stdout);
    (
        rendered.code,
        value.unwrap_or_else(|error| panic!("{error}: {rendered:?}")),
    )
}

fn lane(lane: u64) -> Sum {
    let mut sum = Sum::default();
    for site in 0..KILLS / KILLS_PER_SITE / LANES {
        let scene = Scene::new();
        let mut seed = 0x5eed_0b1d_u64 ^ (lane << 40) ^ (site + 1);
        let mut keys = Vec::new();
        let mut pace = scene.pace();
        for round in 0..KILLS_PER_SITE {
            if round % 10 == 9 {
                // The machine may be busier by now, or less.
                pace = scene.pace();
            }
            let own: Vec<String> = (0..CALLS)
                .map(|call| format!("k-{lane}-{site}-{round}-{call}"))
                .collect();
            let acknowledged = scene.round(&own, pace, &mut seed);
            keys.extend(own.into_iter().zip(acknowledged));
            sum.kills += 1;
        }
        scene.settle(&keys, &mut sum);
    }
    sum
}

/// acknowledged calls are given again as they were, what nobody
/// knows is refused until it is reconciled, and no effect happens twice.
#[test]
fn a_thousand_kills_of_a_host_lose_no_acknowledged_call_and_repeat_no_effect_i16_i17_i18_g1() {
    let lanes: Vec<Sum> = std::thread::scope(|threads| {
        let all: Vec<_> = (0..LANES).map(|n| threads.spawn(move || lane(n))).collect();
        all.into_iter().map(|lane| lane.join().unwrap()).collect()
    });
    let total = |figure: fn(&Sum) -> u64| lanes.iter().map(figure).sum::<u64>();
    let (kills, acknowledged) = (total(|s| s.kills), total(|s| s.acknowledged));
    let uncertain = total(|s| s.uncertain);
    let (done, failed) = (total(|s| s.reconciled_done), total(|s| s.reconciled_failed));
    println!(
        "{kills} random kills of a host: {acknowledged} calls acknowledged, 0 lost, 0 repeated, \
         {uncertain} uncertain, {} reconciled ({done} had happened), {} answers given again, \
         {} never began",
        done + failed,
        total(|s| s.given_again),
        total(|s| s.never_began)
    );
    assert_eq!(kills, KILLS);
    assert_eq!(done + failed, uncertain);
    assert!(
        acknowledged > 100,
        "too few to say anything: {acknowledged}"
    );
    assert!(done > 10 && uncertain > 20, "{done} of {uncertain}");
}

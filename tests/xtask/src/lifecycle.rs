//! The last steps of `demo`: the whole governed lifecycle, on a host of its own.
//!
//! Three real components, this repository's sources, a server on loopback that checks a
//! credential, an operator's answer, and denials on axes of their own; every line comes
//! from the run.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use bindery_artefacts::{python, repository, rust_guest};
use serde_json::Value;

use crate::demo::{at, object, quiet, show};
use crate::step::say;

const DENIED: i32 = 4;
const ASKED: i32 = 6;
const UNAVAILABLE: i32 = 9;
const SECRET: &str = "demo-secret-5d1f0c";

/// A place with a host that is ended whatever happens.
struct Place<'a> {
    bindery: &'a Path,
    folder: PathBuf,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // Ended already where everything went well.
        drop(self.command(&["host", "stop"]).output());
    }
}

impl Place<'_> {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.bindery);
        command.args(words).current_dir(&self.folder);
        command
    }

    /// Shows a command, and gives its JSON.
    fn json(&self, words: &[&str], code: i32) -> Result<Value> {
        let words = [words, &["-o", "json"]].concat();
        object(&show(&mut self.command(&words), code)?)
    }

    /// A command that is not shown.
    fn silent(&self, words: &[&str]) -> Result<String> {
        quiet(&mut self.command(words), 0)
    }
}

/// Shows the lifecycle.
pub(crate) fn lifecycle(bindery: &Path) -> Result<()> {
    let folder = repository().join("target/demo");
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder)?;
    let place = Place { bindery, folder };
    let port = server()?;
    say("6. a host of one's own: init, admit, start");
    print!("{}", show(&mut place.command(&["init"]), 0)?);
    configure(&place, port)?;
    admit(&place)?;
    let status = place.json(&["host", "start"], 0)?;
    println!(
        "process {}, {} capabilities",
        at(&status, "/pid"),
        at(&status, "/capabilities")
    );
    bound(&place)?;
    credential(&place, port)?;
    approval(&place)?;
    denials(&place)?;
    revoked(&place)?;
    show(&mut place.command(&["host", "stop"]), 0)?;
    Ok(())
}

fn configure(place: &Place<'_>, port: u16) -> Result<()> {
    let file = place.folder.join("bindery.toml");
    let starter = std::fs::read_to_string(&file)?;
    let sources = repository().join("host");
    let text = starter.replace("preset = \"static\"", "preset = \"late_bound\"")
        + &format!(
            r#"
[principals."token:assistant"]
rights = "model"
tenant = "local"
[grants.sources]
kind = "directory"
host = "{}"
guest = "/src"
[grants.api]
kind = "endpoint"
url = "http://127.0.0.1:{port}/v1/"
credential = "api"
[credentials.api]
file = "api-token"
[[policy.rule]]
decision = "allow"
why = "our own sources may be read"
namespaces = ["acme"]
grants = ["sources"]
[[policy.rule]]
decision = "allow"
why = "the demonstration's own server"
namespaces = ["web"]
grants = ["api"]
[[policy.rule]]
decision = "ask"
why = "somebody looks at what the Python component is asked"
namespaces = ["py"]
approval = "confirm_every_time"
[[policy.rule]]
decision = "deny"
capabilities = ["acme:file-tools/files#list-dir"]
[[policy.rule]]
decision = "deny"
namespaces = ["acme"]
arguments = [{{ at = "/path", path_under = "/src/policy" }}]
"#,
            sources.display()
        );
    std::fs::write(&file, text)?;
    let mut options = std::fs::OpenOptions::new();
    let mut token = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(place.folder.join("api-token"))?;
    token.write_all(SECRET.as_bytes())?;
    print!("{}", show(&mut place.command(&["config", "check"]), 0)?);
    Ok(())
}

fn admit(place: &Place<'_>) -> Result<()> {
    let foreign = python("echo")?.context("the Python component could not be built")?;
    let components = [
        (rust_guest("file-tools")?, "acme", "no_approval"),
        (rust_guest("http-json")?, "web", "no_approval"),
        (foreign, "py", "confirm_every_time"),
    ];
    for (component, namespace, approval) in components {
        let component = component.to_str().context("a path that is no text")?;
        let words = [
            "admit",
            component,
            "--namespace",
            namespace,
            "--approval",
            approval,
        ];
        let admitted = place.json(&words, 0)?;
        let entries = at(&admitted, "/admitted")
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        for entry in entries.iter().take(4) {
            println!(
                "  {} {} as {}",
                at(entry, "/verdict/status"),
                at(entry, "/id"),
                at(entry, "/name")
            );
        }
        ensure!(!entries.is_empty(), "nothing was admitted");
    }
    Ok(())
}

/// Describe, validate, bind, call, trace, release.
fn bound(place: &Place<'_>) -> Result<()> {
    say("7. describe, validate, bind, call, trace, release: this repository's sources");
    let read = "acme:file-tools/files#read-file";
    let candidate = place.json(&["describe", read], 0)?;
    let digest = text(&candidate, "/descriptor_digest")?;
    println!(
        "descriptor {digest}, {}",
        at(&candidate, "/validation_status")
    );
    let verdict = place.json(&["validate", read], 0)?;
    for layer in at(&verdict, "/layers").as_array().into_iter().flatten() {
        println!("  {} {}", at(layer, "/name"), at(layer, "/result"));
    }
    let bound = place.json(&["bind", read, "--descriptor", &digest, "--ttl", "10m"], 0)?;
    let handle = text(&bound, "/handle")?;
    println!(
        "{handle} until {}, {}",
        at(&bound, "/expires_at"),
        at(&bound, "/scope/slices")
    );
    let reply = place.json(
        &["call", &handle, r#"{"path": "/src/bindery/src/lib.rs"}"#],
        0,
    )?;
    println!(
        "{} lines, effects {}",
        at(&reply, "/value/lines"),
        at(&reply, "/receipt/effects")
    );
    let trace = place.json(&["trace", &text(&reply, "/call")?], 0)?;
    println!(
        "generation {} by record {}, descriptor by record {}, started by record {}, ended {} by record {}",
        at(&trace, "/binding/generation/value"),
        at(&trace, "/binding/generation/record"),
        at(&trace, "/binding/descriptor/record"),
        at(&trace, "/intent/record"),
        at(&trace, "/outcome/value/end"),
        at(&trace, "/outcome/record"),
    );
    place.json(&["release", &handle, "--reason", "shown"], 0)?;
    let refused = place.json(&["call", &handle], UNAVAILABLE)?;
    println!(
        "{}: {}",
        at(&refused, "/error/type"),
        at(&refused, "/error/message")
    );
    Ok(())
}

/// The server gets the credential; the component, the reply and the record do not.
fn credential(place: &Place<'_>, port: u16) -> Result<()> {
    say("8. a credential that is added at the edge and seen by the server alone");
    let url = format!(r#"{{"url": "http://127.0.0.1:{port}/v1/who"}}"#);
    let reply = place.json(&["call", "get_json", &url], 0)?;
    println!("the server answered {}", at(&reply, "/value/body-json"));
    ensure!(
        at(&reply, "/value/status") == 200,
        "the server refused the credential"
    );
    let record = place.silent(&["ledger", "--count", "10000", "-o", "json"])?;
    ensure!(
        !record.contains(SECRET) && !reply.to_string().contains(SECRET),
        "the secret was left behind"
    );
    println!("the secret is in none of {} bytes of records", record.len());
    Ok(())
}

/// A question, an operator's answer, and one call for it.
fn approval(place: &Place<'_>) -> Result<()> {
    say("9. a call that somebody has to approve, made by a model's principal");
    let ids = place.silent(&["ledger", "-o", "json"])?;
    let ids = object(&ids)?;
    let known = at(&ids, "/capabilities").as_array().into_iter().flatten();
    let divide = known
        .map(|row| at(row, "/capability_id").as_str().unwrap_or_default())
        .find(|id| id.starts_with("py:") && id.ends_with("#divide"))
        .context("the Python component has no `divide`")?
        .to_owned();
    let described = object(&place.silent(&["describe", &divide, "-o", "json"])?)?;
    let digest = text(&described, "/descriptor/implementation_digest")?;
    let arguments = r#"{"dividend": "84", "divisor": 2}"#;
    let mut words = vec!["call", &divide, arguments, "--as", "token:assistant"];
    words.extend(["--digest", &digest]);
    let asked = place.json(&words, ASKED)?;
    println!("{}", at(&asked, "/error/message"));
    let proposal = text(&asked, "/error/details/proposal")?;
    place.json(&["approve", &proposal, "--as", "token:assistant"], DENIED)?;
    place.json(
        &["approve", &proposal, "--reason", "the numbers are right"],
        0,
    )?;
    let reply = place.json(&words, 0)?;
    println!("value {}", at(&reply, "/value"));
    ensure!(*at(&reply, "/value") == 42, "the wrong value");
    place.json(&words, ASKED)?;
    println!("the answer is used up: the same call asks again");
    Ok(())
}

/// Six denials, each on an axis of its own, and an allow and an ask beside them.
fn denials(place: &Place<'_>) -> Result<()> {
    say("10. decisions explained: an allow, an ask, six denials");
    let read = "acme:file-tools/files#read-file";
    let inside = r#"{"path": "/src/bindery/src/lib.rs"}"#;
    let secret = r#"{"path": "/src/policy/src/lib.rs"}"#;
    let model = ["--for", "token:assistant"];
    for (expected, words) in [
        ("allow", vec![read, "--args", inside]),
        (
            "ask",
            vec![
                "py:echo/values#divide",
                "--args",
                r#"{"dividend": "84", "divisor": 2}"#,
            ],
        ),
        ("deny", vec!["acme:file-tools/files#list-dir"]),
        ("arguments", vec![read, "--args", secret]),
        ("binding", [&[read][..], &model].concat()),
        ("visibility", vec!["nobody:nothing#at-all"]),
        ("mode", vec![read, "--mode", "plan_only"]),
        ("agent", vec![read, "--agent", "stranger"]),
    ] {
        let words = [&["policy", "explain"][..], &words].concat();
        let mut command = place.command(&words);
        let printed = command.output()?;
        let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
        println!("$ {}", crate::step::written(&command));
        let head = printed.lines().next().unwrap_or_default();
        println!("{head}");
        let telling = printed
            .lines()
            .filter(|line| !line.contains(" pass ") && line.split_whitespace().count() > 2);
        telling.skip(1).for_each(|line| println!("  {line}"));
        ensure!(
            head.contains(expected),
            "`{expected}` did not decide: {printed}"
        );
    }
    Ok(())
}

fn revoked(place: &Place<'_>) -> Result<()> {
    say("11. authority withdrawn");
    place.json(&["revoke", "acme", "--reason", "shown"], 0)?;
    let refused = place.json(
        &[
            "call",
            "acme:file-tools/files#read-file",
            r#"{"path": "/src/bindery/src/lib.rs"}"#,
        ],
        DENIED,
    )?;
    println!(
        "{}: {}",
        at(&refused, "/error/type"),
        at(&refused, "/error/message")
    );
    let actions = place.silent(&["actions", "-o", "json"])?;
    let actions = object(&actions)?;
    for action in at(&actions, "/actions").as_array().into_iter().flatten() {
        println!(
            "  {} {} {}",
            at(action, "/status"),
            at(action, "/capability")
                .as_str()
                .unwrap_or_default()
                .split('@')
                .next()
                .unwrap_or_default(),
            at(action, "/error"),
        );
    }
    Ok(())
}

fn text(value: &Value, pointer: &str) -> Result<String> {
    let found = at(value, pointer).as_str();
    let found = found.with_context(|| format!("nothing at {pointer} of {value}"))?;
    Ok(found.to_owned())
}

/// Answers who sent the right credential with 200, anybody else with 401.
fn server() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A peer that goes away is no failure of the server.
            drop(answer(stream));
        }
    });
    Ok(port)
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut line, mut known) = (String::new(), false);
    while reader.read_line(&mut line)? > 2 {
        known |= line.trim_end().ends_with(&format!("Bearer {SECRET}"));
        line.clear();
    }
    let (status, body) = if known {
        ("200 OK", r#"{"you": "are known"}"#)
    } else {
        ("401 Unauthorized", r#"{"you": "are nobody"}"#)
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

//! What strangers try at a host's desk, and what it answers: words that forge, wishes that
//! differ, names that nothing has, connections that only sit there, files that were swapped.

use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::governed::{ALLOW, READ, Site, file_tools};
use crate::governed_operate::{ended, spinning, spinning_site};

const ASKED: &[&str] = &["--namespace", "acme", "--approval", "confirm_every_time"];
const PATH: &str = r#"{"path": "/src/a.txt"}"#;

fn reading_site() -> Site {
    let mut site = Site::new(ALLOW);
    site.admit(&file_tools());
    site.start();
    site
}

fn asking_site() -> Site {
    let mut site = Site::new(ALLOW);
    let component = file_tools();
    let mut words = vec!["admit", component.as_str()];
    words.extend(ASKED);
    site.ok(&words);
    site.start();
    site
}

fn sessions(site: &Site) -> usize {
    site.ok(&["session", "list"])["sessions"]
        .as_array()
        .unwrap()
        .len()
}

#[test]
fn a_question_about_policy_leaves_no_session_behind_whatever_it_asks() {
    let site = reading_site();
    let before = sessions(&site);
    assert_ne!(site.json(&["policy", "explain", "no-such-thing"]).0, 0);
    assert_eq!(site.json(&["policy", "explain", READ]).0, 0);
    assert_eq!(sessions(&site), before);
}

/// X47, R-562: the approval is for exactly what was asked.
#[test]
fn a_call_that_is_wished_for_otherwise_does_not_use_the_waiting_approval() {
    let site = asking_site();
    let proposal = |words: &[&str]| {
        let mut all = vec!["call", READ, PATH];
        all.extend(words);
        let (code, value) = site.json(&all);
        (code, value["error"]["details"]["proposal"].clone())
    };
    let (code, first) = proposal(&[]);
    assert_eq!(code, 6);
    assert!(first.is_string());
    assert_eq!(proposal(&[]), (6, first.clone()), "the same question");
    let zeros = "0".repeat(64);
    let (code, _) = proposal(&["--digest", &zeros]);
    assert_ne!(code, 6, "another build is never asked about under this one");
    let (code, other) = proposal(&["--budget", "fuel=1000000"]);
    assert_eq!(code, 6);
    assert_ne!(other, first, "another budget is another question");
    site.ok(&["approve", first.as_str().unwrap(), "--reason", "fine"]);
    assert_eq!(proposal(&["--budget", "fuel=1000000"]).0, 6, "still waits");
    assert_eq!(proposal(&[]).0, 0, "and the one that was approved runs");
}

#[test]
fn a_misspelt_withdrawal_withdraws_nothing_and_says_so() {
    let site = reading_site();
    for typo in ["acmee", "acme:file-tools/files#red-file", "token:nobody"] {
        let (code, value) = site.json(&["revoke", typo, "--reason", "stop"]);
        assert_eq!(
            (code, &value["error"]["type"]),
            (2, &json!("usage")),
            "{typo}"
        );
    }
    assert_eq!(site.json(&["call", READ, PATH]).0, 0);
    site.ok(&["revoke", "acme", "--reason", "stop"]);
    assert_eq!(site.json(&["call", READ, PATH]).0, 4, "the twin");
}

#[test]
fn connections_that_only_sit_there_do_not_keep_a_host_from_ending() {
    let mut site = reading_site();
    let socket = site.path(".bindery/host.sock");
    let idle: Vec<_> = (0..80)
        .map(|_| UnixStream::connect(&socket).unwrap())
        .collect();
    // Those that are served at most have been taken by now, the others wait.
    std::thread::sleep(Duration::from_millis(200));
    let mut host = site.host.take().unwrap();
    let pid = rustix::process::Pid::from_child(&host);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let begun = Instant::now();
    while host.try_wait().unwrap().is_none() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "SIGTERM is not heard"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(idle);
}

#[test]
fn a_host_that_is_killed_in_the_middle_of_a_call_leaves_it_uncertain() {
    let mut site = spinning_site();
    let child = spinning(&site, &[]);
    site.kill();
    let (code, value) = ended(child);
    assert_eq!(code, Some(10), "{value}");
    assert_eq!(value["error"]["type"], "uncertain_side_effect");
}

#[test]
fn who_ended_a_call_is_said_to_whoever_made_it() {
    let site = spinning_site();
    let child = spinning(&site, &[]);
    site.ok(&["revoke", "acme:calc#spin", "--reason", "stop it"]);
    let (_, value) = ended(child);
    assert_eq!(
        value["error"]["details"]["ended_by"], "authorization_revoked",
        "{value}"
    );
}

/// H52, I18.
#[test]
fn a_record_that_was_taken_away_stops_what_would_have_to_be_in_it() {
    let site = reading_site();
    site.ok(&["call", READ, PATH]);
    std::fs::rename(site.path(".bindery/store"), site.path("elsewhere")).unwrap();
    let (code, value) = site.json(&["bind", READ]);
    assert_eq!(
        (code, &value["error"]["type"]),
        (9, &json!("store_unavailable")),
        "{value}"
    );
    let problems = site.ok(&["host", "status"])["problems"].clone();
    assert!(
        problems[0]
            .as_str()
            .unwrap()
            .contains("nothing is recorded"),
        "{problems}"
    );
}

#[test]
fn a_pipe_in_place_of_the_list_of_components_is_refused_and_not_waited_for() {
    let site = Site::new(ALLOW);
    site.admit(&file_tools());
    let list = site.path(".bindery/components/admitted.json");
    std::fs::remove_file(&list).unwrap();
    let mode = rustix::fs::Mode::from_bits_truncate(0o600);
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &list, fifo, mode, 0).unwrap();
    let (code, value) = site.json(&["env"]);
    assert_eq!(
        (code, &value["error"]["type"]),
        (8, &json!("integrity_failed")),
        "{value}"
    );
}

/// X63.
#[test]
fn a_folder_of_data_that_others_can_write_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::new(ALLOW);
    site.admit(&file_tools());
    let open = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(site.path(".bindery"), open(0o777)).unwrap();
    let (code, value) = site.json(&["call", READ, PATH]);
    assert_eq!(
        (code, &value["error"]["type"]),
        (9, &json!("store_unavailable")),
        "{value}"
    );
    std::fs::set_permissions(site.path(".bindery"), open(0o700)).unwrap();
    assert_eq!(site.json(&["call", READ, PATH]).0, 0);
}

#[test]
fn a_session_has_a_name_that_can_be_read_and_there_are_not_too_many() {
    let site = reading_site();
    let new = |name: &str| site.json(&["session", "new", "--session", name]);
    for name in ["", "a\nb", "a\u{202e}b", &"x".repeat(200)] {
        assert_eq!(new(name).0, 2, "{name:?}");
    }
    let mut opened = 0;
    let refused: Value = loop {
        let (code, value) = new(&format!("s{opened}"));
        if code != 0 {
            break value;
        }
        opened += 1;
        assert!(opened <= 64, "without end");
    };
    assert_eq!(refused["error"]["type"], "budget_exhausted");
    site.ok(&["session", "end", "--session", "s0"]);
    assert_eq!(new("again").0, 0, "one that ended makes room");
}

/// A terminal that shows proposals shows no line that a model wrote (X49).
#[test]
fn what_a_model_asks_for_forges_no_line_of_the_proposals() {
    let site = asking_site();
    let path = json!({ "path": "/src/a\u{1b}[2K\nstatus: approved\u{202e}" }).to_string();
    assert_eq!(site.json(&["call", READ, &path]).0, 6);
    let printed = site
        .command(&["proposals"])
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    let text = String::from_utf8(printed.stdout).unwrap();
    assert!(text.contains("status: pending"), "{text}");
    assert!(
        !text.contains('\u{1b}') && !text.contains('\u{202e}'),
        "{text}"
    );
    assert!(
        !text.lines().any(|line| line.trim() == "status: approved"),
        "{text}"
    );
}

/// I6: calls that fill every place do not keep an operator from ending them.
#[test]
fn a_withdrawal_does_not_wait_for_the_calls_that_it_ends() {
    let site = spinning_site();
    let call = || {
        let words = [
            "call",
            "acme:calc#spin",
            "--budget",
            "deadline=60s",
            "--budget",
            "fuel=1e12",
            "-o",
            "json",
        ];
        let mut command = site.command(&words);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    // More than there are places.
    let mut calls: Vec<_> = (0..70).map(|_| call()).collect();
    let begun = Instant::now();
    while site.ok(&["host", "status"])["ledger"]["calls_running_or_uncertain"] == json!(0) {
        assert!(begun.elapsed() < Duration::from_secs(120), "none began");
    }
    let begun = Instant::now();
    site.ok(&["revoke", "--all", "--reason", "stop"]);
    // Each would run for a minute.
    assert!(
        begun.elapsed() < Duration::from_secs(45),
        "{:?}",
        begun.elapsed()
    );
    for call in &mut calls {
        assert!(!call.wait().unwrap().success());
    }
}

/// R-316: an operator's default is a model's ceiling.
#[test]
fn a_model_asks_for_no_more_than_it_is_given_by_default_unless_a_ceiling_says_so() {
    let ask = |site: &Site, who: &str, budget: &str| {
        let bytes = std::fs::read(file_tools()).unwrap();
        let digest = bindery::Digest::of(&bytes).to_string();
        let words = [
            "bind", READ, "--as", who, "--digest", &digest, "--budget", budget,
        ];
        site.json(&words)
    };
    let site = reading_site();
    let (code, value) = ask(&site, "token:model", "deadline=99h");
    assert_eq!(
        (code, &value["error"]["type"]),
        (7, &json!("budget_exhausted")),
        "{value}"
    );
    assert_eq!(
        ask(&site, "token:model", "deadline=1s").0,
        0,
        "less is no matter"
    );
    let (code, value) = site.json(&["bind", READ, "--budget", "deadline=99h"]);
    assert_eq!(code, 0, "an operator may: {value}");
    let mut site = Site::new(&format!("{ALLOW}[ceilings]\ndeadline = \"100h\"\n"));
    site.admit(&file_tools());
    site.start();
    assert_eq!(
        ask(&site, "token:model", "deadline=99h").0,
        0,
        "as the document says"
    );
}

/// X63: whoever can write the rules is the policy.
#[test]
fn rules_that_anybody_can_write_are_no_rules() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::new(ALLOW);
    let mode = |mode| {
        let open = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(site.path("bindery.toml"), open).unwrap();
        site.json(&["config", "check"])
    };
    let (code, value) = mode(0o666);
    assert_eq!(
        (code, &value["error"]["type"]),
        (2, &json!("policy_malformed")),
        "{value}"
    );
    assert_eq!(mode(0o644).0, 0);
}

#[test]
fn the_limits_of_the_configuration_hold_where_components_and_arguments_come_in() {
    let mut site = Site::new(&format!("{ALLOW}[budgets]\ncomponent = \"1KiB\"\n"));
    let component = file_tools();
    let words = ["admit", &component, "--namespace", "acme"];
    let (code, value) = site.json(&words);
    assert_eq!(
        (code, &value["error"]["details"]["limit"]),
        (7, &json!("component")),
        "{value}"
    );
    site.configure(ALLOW);
    site.admit(&component);
    site.start();
    // A text that is valid JSON up to where it would be cut.
    let long = format!("{PATH}{}x", " ".repeat(2 << 20));
    std::fs::write(site.path("long.json"), long).unwrap();
    let (code, value) = site.json(&["call", READ, "@long.json"]);
    assert_eq!(
        (code, &value["error"]["details"]["limit"]),
        (7, &json!("arguments")),
        "{value}"
    );
}

/// X72: commands that come at once where no host runs take their turns.
#[test]
fn commands_that_want_one_store_at_once_wait_for_each_other() {
    let site = Site::new(ALLOW);
    site.admit(&file_tools());
    let call = || {
        let mut command = site.command(&["call", READ, PATH, "-o", "json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let calls: Vec<_> = (0..5).map(|_| call()).collect();
    for call in calls {
        let printed = call.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&printed.stdout);
        assert!(printed.status.success(), "{text}");
    }
}

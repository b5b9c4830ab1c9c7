//! From admission to release as commands, with their refusals.

use serde_json::{Value, json};

use crate::governed::{ALLOW, READ, Site, file_tools};
use crate::process::calc;

#[test]
fn the_whole_lifecycle_runs_over_a_host_r_054_to_r_058() {
    let mut site = Site::new(ALLOW);
    let admitted = site.admit(&file_tools());
    let ids: Vec<&Value> = admitted["admitted"].as_array().unwrap().iter().collect();
    assert_eq!(ids.len(), 4);
    assert!(
        ids.iter()
            .all(|entry| entry["verdict"]["status"] == "bindable")
    );
    site.start();
    let candidate = site.ok(&["describe", "read_file"]);
    assert_eq!(
        candidate["capability_id"], READ,
        "C-49: a public name will do"
    );
    let verdict = site.ok(&["validate", READ]);
    assert_eq!(verdict["layers"].as_array().unwrap().len(), 7, "R-376");
    let handle = site.bind(READ, &["--ttl", "10m"]);
    let reply = site.ok(&["call", &handle, r#"{"path": "/src/a.txt"}"#]);
    assert_eq!(reply["value"]["text"], "one\ntwo\n");
    assert_eq!(reply["receipt"]["effects"][0]["resource"], "/src/a.txt");
    let call = reply["call"].as_str().unwrap();
    let trace = site.ok(&["trace", call]);
    assert_eq!(trace["call"], call);
    assert_eq!(trace["outcome"]["value"]["end"], "succeeded", "R-783");
    let binding = site.ok(&["binding", &handle]);
    assert_eq!(binding["now"]["status"], "bound");
    let generation = &binding["trace"]["generation"]["value"];
    let manifest = site.ok(&["env"]);
    assert_eq!(*generation, manifest["environment_generation"], "R-781");
    site.ok(&["release", &handle, "--reason", "done"]);
    let (code, refused) = site.json(&["call", &handle]);
    assert_eq!(
        (code, &refused["error"]["type"]),
        (9, &json!("binding_stale")),
        "R-101"
    );
    let ended = &site.ok(&["binding", &handle])["trace"]["ended"]["value"];
    assert_eq!(ended["to"], "released", "R-787");
    let record = &site.ok(&["ledger", READ])["builds"][0];
    assert_eq!(record["validation_status"], "bindable", "R-335");
    let actions = site.ok(&["actions"]);
    assert_eq!(actions["actions"][0]["status"], "succeeded", "R-575");
}

#[test]
fn what_policy_does_not_allow_is_denied_and_says_which_axis() {
    let site = Site::new("");
    site.admit(&file_tools());
    let (code, refused) = site.json(&["call", READ, r#"{"path": "/src/a.txt"}"#]);
    assert_eq!(
        (code, &refused["error"]["type"]),
        (4, &json!("binding_denied"))
    );
    let site = Site::new(&format!(
        "{ALLOW}[[policy.rule]]\ndecision = \"deny\"\nnames = [\"read_file\"]\n"
    ));
    site.admit(&file_tools());
    let (code, refused) = site.json(&["call", READ, r#"{"path": "/src/a.txt"}"#]);
    assert_eq!(code, 4);
    assert_eq!(refused["error"]["details"]["axis"], "deny", "a denial wins");
    let explained = site.ok(&["policy", "explain", READ]);
    assert_eq!(explained["axis"], "deny");
    assert_eq!(
        explained["trace"].as_array().unwrap().len(),
        24,
        "every axis is listed"
    );
}

#[test]
fn without_a_host_an_id_is_called_and_recorded_and_a_handle_says_how_to_start_one_c_50() {
    let site = Site::new(ALLOW);
    site.admit(&file_tools());
    let reply = site.ok(&["call", READ, r#"{"path": "/src/a.txt"}"#]);
    assert_eq!(reply["value"]["lines"], 2);
    let call = reply["call"].as_str().unwrap();
    assert_eq!(
        site.ok(&["trace", call])["outcome"]["value"]["end"],
        "succeeded",
        "the store outlives the process"
    );
    let handle = format!("bindh_{}", "0".repeat(32));
    for words in [
        vec!["bind", READ],
        vec!["call", &handle],
        vec!["release", &handle],
        vec!["session", "new"],
        vec!["host", "status"],
        vec!["config", "reload"],
    ] {
        let (code, refused) = site.json(&words);
        assert_eq!(code, 9, "{words:?}");
        let said = refused["error"]["details"]["operator"].as_str().unwrap();
        assert!(said.contains("bindery host start"), "{said}");
    }
}

#[test]
fn reading_commands_make_nothing_where_nothing_was() {
    let site = Site::new(ALLOW);
    for words in [
        vec!["ledger"],
        vec!["trace"],
        vec!["actions"],
        vec!["proposals"],
        vec!["session", "list"],
        vec!["stages"],
        vec!["env"],
    ] {
        site.ok(&words);
    }
    assert!(!site.path(".bindery").exists());
}

#[test]
fn a_second_host_is_refused_with_the_owner_named_and_commands_go_through_the_first() {
    let mut site = Site::new(ALLOW);
    site.admit(&file_tools());
    site.start();
    let pid = site.host.as_ref().unwrap().id();
    let (code, refused) = site.json(&["host", "start", "--foreground"]);
    assert_eq!(code, 9, "{refused}");
    let said = refused["error"]["details"]["operator"].as_str().unwrap();
    assert!(said.contains(&pid.to_string()), "{said}");
    assert_eq!(site.ok(&["host", "status"])["pid"], pid);
    use std::os::unix::fs::PermissionsExt;
    let mode = |name: &str| site.path(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(".bindery/host.sock"), 0o600);
    assert_eq!(mode(".bindery"), 0o700);
}

#[test]
fn a_host_in_the_background_starts_answers_and_ends() {
    let site = Site::new(ALLOW);
    let status = site.ok(&["host", "start"]);
    assert_eq!(site.ok(&["host", "status"])["pid"], status["pid"]);
    assert_eq!(site.run(&["host", "start"]).code, 2, "one is enough");
    site.ok(&["host", "stop"]);
    assert_eq!(site.run(&["host", "status"]).code, 9);
    assert!(!site.path(".bindery/host.sock").exists());
    site.ok(&["stages", "set", "5", "on"]);
}

/// R-691, R-693, R-694.
#[test]
fn a_host_that_was_killed_leaves_a_record_and_no_authority_r_708() {
    let mut site = Site::new(ALLOW);
    site.admit(&file_tools());
    site.start();
    let handle = site.bind(READ, &[]);
    site.kill();
    site.start();
    let (code, refused) = site.json(&["call", &handle, r#"{"path": "/src/a.txt"}"#]);
    assert_eq!(code, 4, "{refused}");
    assert_eq!(
        refused["error"]["type"], "handle_invalid",
        "no session has it"
    );
    let trace = site.ok(&["binding", &handle]);
    assert_eq!(
        trace["trace"]["ended"]["value"]["trigger"], "host_restarted",
        "R-708"
    );
    let again = site.bind(READ, &[]);
    site.ok(&["call", &again, r#"{"path": "/src/a.txt"}"#]);
}

/// Every operator's verb, tried by a principal with a model's rights.
///
/// H54, R-073, R-080, R-318.
#[test]
fn a_model_principal_has_no_operators_verb_on_the_socket() {
    let mut site = Site::new(ALLOW);
    site.admit(&file_tools());
    site.start();
    let proposal = format!("prop_{}", "0".repeat(32));
    for words in [
        vec!["session", "list"],
        vec!["ledger"],
        vec!["binding", "bindh_x"],
        vec!["trace"],
        vec!["actions"],
        vec!["proposals"],
        vec!["approve", &proposal],
        vec!["deny", &proposal],
        vec!["revoke", "--all"],
        vec!["revoke", "--all", "--lift"],
        vec!["reconcile", "call_x", "--done", "--evidence", "x"],
        vec!["stages"],
        vec!["stages", "set", "2", "on"],
        vec!["config", "reload"],
        vec!["config", "accept-writes", "--evidence", "x"],
        vec!["policy", "explain", READ],
        vec!["host", "status"],
        vec!["host", "stop"],
    ] {
        let mut words = words.clone();
        words.extend(["--as", "token:model"]);
        let (code, refused) = site.json(&words);
        assert_eq!(code, 4, "{words:?}");
        assert_eq!(refused["error"]["type"], "permission_denied", "{words:?}");
        assert_eq!(refused["error"]["details"].get("operator"), None);
    }
    // The twin: what a session does, it may do, its digest named (R-861).
    let (code, refused) = site.json(&["bind", READ, "--as", "token:model"]);
    assert_eq!(
        (code, &refused["error"]["type"]),
        (4, &json!("binding_denied"))
    );
    let digest = site.ok(&["describe", READ, "--as", "token:model"]);
    let digest = digest["descriptor"]["implementation_digest"]
        .as_str()
        .map(str::to_owned);
    let bound = site.ok(&[
        "bind",
        READ,
        "--as",
        "token:model",
        "--digest",
        &digest.unwrap(),
    ]);
    let handle = bound["handle"].as_str().unwrap();
    let words = [
        "call",
        handle,
        r#"{"path": "/src/a.txt"}"#,
        "--as",
        "token:model",
    ];
    site.ok(&words);
    let (_, foreign) = site.json(&["call", handle, r#"{"path": "/src/a.txt"}"#]);
    assert_eq!(
        foreign["error"]["type"], "handle_invalid",
        "another's handle"
    );
    let (code, unknown) = site.json(&["env", "--as", "token:nobody"]);
    assert_eq!(
        (code, &unknown["error"]["type"]),
        (3, &json!("not_authenticated"))
    );
}

#[test]
fn a_question_is_answered_over_the_socket_and_the_repeated_call_runs_once_c_56() {
    let mut site = Site::new(
        "[[policy.rule]]\ndecision = \"ask\"\nwhy = \"somebody looks\"\nnamespaces = [\"acme\"]\n\
         grants = [\"source\"]\napproval = \"confirm_every_time\"\n",
    );
    site.admit(&file_tools());
    site.start();
    let words = ["call", READ, r#"{"path": "/src/a.txt"}"#];
    let (code, asked) = site.json(&words);
    assert_eq!(
        (code, &asked["error"]["type"]),
        (6, &json!("approval_required"))
    );
    let proposal = asked["error"]["details"]["proposal"].as_str().unwrap();
    let shown = site.ok(&["proposals", proposal]);
    let question = &shown["proposals"][0]["proposal"]["asked"];
    assert_eq!(
        question["summary"]["arguments"]["path"], "/src/a.txt",
        "R-560"
    );
    assert_eq!(site.json(&words).0, 6, "still a question");
    site.ok(&["approve", proposal, "--reason", "it is right"]);
    let (code, other) = site.json(&["call", READ, r#"{"path": "/src/b.txt"}"#]);
    assert_eq!(
        (code, &other["error"]["type"]),
        (6, &json!("approval_required")),
        "I14"
    );
    site.ok(&words);
    assert_eq!(site.json(&words).0, 6, "the answer is used up");
    let pending = site.ok(&["proposals"]);
    let mut open = pending["proposals"].as_array().unwrap().iter();
    let open = open.find(|row| row["proposal"]["status"] == "pending");
    let id = open.unwrap()["id"].as_str().unwrap().to_owned();
    site.ok(&["deny", &id]);
    let again = site.json(&["approve", &id]);
    assert_ne!(again.0, 0, "a denied question stays denied");
}

#[test]
fn a_run_is_recorded_where_it_is_told_to_and_nowhere_else() {
    let site = Site::new("");
    let calc = calc();
    let add = ["run", &calc, "add", r#"{"a": 1, "b": 2}"#];
    site.ok(&add);
    assert!(!site.path("record").exists());
    site.ok(&[&add[..], &["--record", "record"]].concat());
    let spin = [
        "run",
        &calc,
        "spin",
        "--deadline",
        "50ms",
        "--record",
        "record",
    ];
    assert_eq!(site.json(&spin).0, 7, "it has no effects: its end is known");
    std::fs::create_dir(site.path("data")).unwrap();
    std::fs::rename(site.path("record"), site.path("data/store")).unwrap();
    let actions = site.ok(&["actions", "--data", "data"]);
    let actions = actions["actions"].as_array().unwrap();
    let ended: Vec<_> = actions.iter().map(|action| &action["status"]).collect();
    assert_eq!(ended, ["succeeded", "failed"], "R-575");
    assert_eq!(actions[1]["error"], "timeout");
    let first = actions[0]["capability"].as_str().unwrap();
    assert!(first.starts_with("direct:"), "{first}");
}

#[test]
fn the_same_component_is_admitted_again_under_another_contract_r_526() {
    let mut site = Site::new(ALLOW);
    let words = ["admit", &file_tools(), "--namespace", "acme"];
    site.ok(&words);
    site.start();
    let (code, refused) = site.json(&["call", READ, r#"{"path": "/src/a.txt"}"#]);
    assert_eq!(code, 4, "nobody said who approves: {refused}");
    site.ok(&[&words[..], &["--approval", "no_approval"]].concat());
    let handle = site.bind(READ, &[]);
    site.ok(&["call", &handle, r#"{"path": "/src/a.txt"}"#]);
    site.ok(&[&words[..], &["--approval", "confirm_every_time"]].concat());
    let (code, refused) = site.json(&["call", &handle, r#"{"path": "/src/a.txt"}"#]);
    assert_eq!(
        (code, &refused["error"]["type"]),
        (9, &json!("binding_stale"))
    );
    let ended = &site.ok(&["binding", &handle])["trace"]["ended"]["value"];
    assert_eq!(ended["trigger"], "descriptor_digest_changed", "R-526");
    let (code, asked) = site.json(&["call", READ, r#"{"path": "/src/a.txt"}"#]);
    assert_eq!(
        (code, &asked["error"]["type"]),
        (6, &json!("approval_required"))
    );
}

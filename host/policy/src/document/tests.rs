//! What is wrong in a document is named with its place; every allow has its deny twin.

use super::*;

fn faults(text: &str) -> Vec<String> {
    let error = Document::parse("bindery.toml", text).unwrap_err();
    error.faults().iter().map(ToString::to_string).collect()
}

#[test]
fn the_starter_is_read_and_allows_nothing() {
    let document = Document::parse("bindery.toml", STARTER).unwrap();
    assert!(document.policy.rules.is_empty() && document.grants.is_empty());
    let empty = Document::parse("bindery.toml", "").unwrap();
    assert!(empty.policy.rules.is_empty() && empty.people.agents.is_empty());
    assert_eq!(empty.stages.on, crate::Stages::default(), "R-302, R-813");
}

#[test]
fn every_commented_choice_of_the_starter_can_be_uncommented() {
    let choice = |line: &str| {
        let rest = line
            .strip_prefix("# ")
            .filter(|rest| rest.starts_with('[') || rest.contains(" = "));
        rest.map_or_else(|| line.to_owned(), str::to_owned)
    };
    let lines: Vec<String> = STARTER.lines().map(choice).collect();
    // One preset of the four, and prose that holds an equals sign, stay comments.
    let prose = [
        "out = ",
        "left out = ",
        "preset = \"static",
        "preset = \"deferred",
        "preset = \"late",
    ];
    let choices = |line: &&String| !prose.iter().any(|words| line.contains(words));
    let text: Vec<&str> = lines.iter().filter(choices).map(String::as_str).collect();
    let document = Document::parse("bindery.toml", &text.join("\n"));
    let document = document.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((document.policy.rules.len(), document.grants.len()), (3, 3));
}

#[test]
fn an_unknown_key_is_named_with_its_place_and_what_is_allowed_there() {
    let said = faults("[mode]\ndefault = \"read_only\"\nceilling = \"safe_edit\"\n");
    assert_eq!(
        said,
        ["bindery.toml:3:1: `mode.ceilling`: unknown key; allowed here: default, ceiling"],
        "X61"
    );
    let said = faults("[plicy]\n");
    assert!(
        said[0].starts_with("bindery.toml:1:2: `plicy`: unknown key; allowed here: environment"),
        "X61: {said:?}"
    );
}

#[test]
fn a_wrong_word_or_type_is_named_with_its_place() {
    let said = faults("[mode]\ndefault = \"read-only\"\nceiling = 7\n[trust]\nminimum = [1]\n");
    assert!(
        said[0].starts_with("bindery.toml:2:11: `mode.default`:"),
        "{said:?}"
    );
    assert!(said[0].contains("write `read_only`"), "C-16: {said:?}");
    assert!(said[1].starts_with("bindery.toml:3:11:"), "{said:?}");
    assert!(said[2].contains("expected a text, got a list"), "{said:?}");
}

#[test]
fn what_toml_itself_refuses_is_refused_with_its_place() {
    for (text, place) in [
        (
            "[mode]\ndefault = \"read_only\"\ndefault = \"full_access\"\n",
            "bindery.toml:3:1",
        ),
        ("[mode]\n[mode]\n", "bindery.toml:2:"),
        ("\u{feff}[mode]\n", "bindery.toml:1:1"),
        ("rule = *\n", "bindery.toml:1:8"),
    ] {
        let said = faults(text);
        assert!(said[0].starts_with(place), "X61: {text:?}: {said:?}");
    }
}

#[test]
fn a_key_that_names_environment_variables_for_guests_is_an_error_of_its_own() {
    for text in [
        "[grants.x]\nkind = \"env\"\n",
        "[grants.x]\nkind = \"clock\"\nenv = [\"LANG\"]\n",
        "[agents.cli]\ninherit_env = true\n",
    ] {
        let said = faults(text);
        assert!(said[0].contains("C-63"), "C-63: {said:?}");
    }
    let host = "[credentials.t]\nenv = \"TOKEN\"\n";
    assert!(
        Document::parse("f", host).is_ok(),
        "R-581: the host's own variable is no guest's"
    );
}

#[test]
fn a_credential_is_named_and_never_written() {
    let said = faults("[credentials.t]\nvalue = \"hunter2\"\n");
    assert!(
        said.iter().any(|line| line.contains("never written")),
        "X64, R-595: {said:?}"
    );
    assert!(!said.join("").contains("hunter2"), "X64");
    let said = faults("[credentials.t]\nenv = \"A\"\nfile = \"b\"\n");
    assert!(said[0].contains("exactly one of"), "{said:?}");
}

#[test]
fn a_side_effect_class_is_raised_and_never_lowered() {
    let grant = |class: &str| {
        format!(
            "[grants.d]\nkind = \"directory\"\nhost = \".\"\nguest = \"/d\"\naccess = \"read_write\"\nside_effect = \"{class}\"\n"
        )
    };
    let said = faults(&grant("none"));
    assert!(said[0].contains("never lowered"), "C-62: {said:?}");
    assert!(Document::parse("f", &grant("financial")).is_ok(), "C-62");
}

#[test]
fn an_approval_requirement_is_made_stricter_and_never_milder() {
    let said = faults("[approvals.risk]\nprivileged = \"no_approval\"\n");
    assert!(said[0].contains("never milder"), "R-257, R-559: {said:?}");
    assert!(
        Document::parse("f", "[approvals.risk]\nprivileged = \"blocked\"\n").is_ok(),
        "R-559"
    );
}

#[test]
fn a_value_above_a_hard_ceiling_is_refused() {
    let said = faults("[budgets]\nfuel = \"5e9\"\n[ceilings]\nfuel = \"1e9\"\n");
    assert!(said[0].contains("above the ceiling"), "R-316: {said:?}");
    assert!(
        faults("[budgets]\nmemory = \"2GiB\"\n")[0].contains("at most"),
        "R-316"
    );
    assert!(faults("[leases]\nttl_max = \"48h\"\n")[0].contains("R-316"));
    assert!(
        Document::parse(
            "f",
            "[budgets]\nfuel = \"5e8\"\n[ceilings]\nfuel = \"1e9\"\n"
        )
        .is_ok(),
        "R-316"
    );
    for text in ["-1", "max", "1.5"] {
        assert!(
            !faults(&format!("[budgets]\nfuel = \"{text}\"\n")).is_empty(),
            "X62: {text}"
        );
    }
    assert!(
        Document::parse(
            "f",
            "[budgets]\nfuel = \"unlimited\"\n[aggregates.session]\nfuel = \"unlimited\"\n"
        )
        .is_ok(),
        "X62: said in words"
    );
    for (one, together) in [("unlimited", "1e9"), ("5e9", "1e9")] {
        let text =
            format!("[budgets]\nfuel = \"{one}\"\n[aggregates.principal]\nfuel = \"{together}\"\n");
        let said = faults(&text);
        assert!(said[0].contains("no call could start"), "{said:?}");
    }
}

#[test]
fn a_rule_that_permits_names_what_and_says_why() {
    let rule = |body: &str| format!("[[policy.rule]]\n{body}\n");
    for (body, said) in [
        ("decision = \"allow\"\nnamespaces = [\"a\"]", "says why"),
        (
            "decision = \"ask\"\nwhy = \" \"\nnamespaces = [\"a\"]",
            "says why",
        ),
        ("decision = \"allow\"\nwhy = \"x\"", "names `capabilities`"),
        ("decision = \"deny\"\nnames = []", "names anything"),
        (
            "decision = \"deny\"\ngrants = []",
            "gives and narrows nothing",
        ),
        ("decision = \"maybe\"", "a decision is one of"),
        ("why = \"x\"", "say `decision"),
        (
            "decision = \"allow\"\nwhy = \"x\"\nnamespaces = [\"a\"]\ngrants = [\"g\"]",
            "no `[grants.g]`",
        ),
        (
            "decision = \"deny\"\narguments = [{ at = \"/x\" }]",
            "say what is asked",
        ),
        (
            "decision = \"deny\"\narguments = [{ at = \"x\", eq = 1 }]",
            "JSON Pointer",
        ),
        (
            "decision = \"deny\"\narguments = [{ at = \"/x\", matches = \".*\" }]",
            "unknown key",
        ),
        (
            "decision = \"deny\"\narguments = [{ at = \"/x\", present = false }]",
            "the other one",
        ),
        (
            "decision = \"deny\"\narguments = [{ at = \"/x\", lt = \"5\" }]",
            "expected a number",
        ),
        (
            "decision = \"deny\"\narguments = [{ at = \"/x\", path_under = \"a/../b\" }]",
            "no `..`",
        ),
    ] {
        let found = faults(&rule(body));
        assert!(
            found.iter().any(|line| line.contains(said)),
            "{body}: {found:?}"
        );
    }
    let right = "decision = \"allow\"\nwhy = \"x\"\nnamespaces = [\"a\"]\narguments = [{ at = \"/x\", ge = 18446744073709551615 }]";
    assert!(Document::parse("f", &rule(right)).is_ok());
}

#[test]
fn a_stage_without_its_prerequisite_is_refused_and_named() {
    let said = faults("[stages]\nbindings = true\n");
    assert!(
        said[0].contains("stage 6 (bindings) needs stage 4 (descriptors)"),
        "R-806: {said:?}"
    );
    let full = Document::parse("f", "[stages]\npreset = \"full\"\n").unwrap();
    assert_eq!(
        full.stages.unjustified,
        [crate::Stage::Composition],
        "R-809"
    );
    let promotion = "[stages]\npreset = \"full\"\npromotion = true\n";
    assert_eq!(
        Document::parse("f", promotion).unwrap().stages.unjustified,
        [crate::Stage::Composition, crate::Stage::Promotion],
        "R-810, R-811"
    );
    let inference = "[stages]\npreset = \"full\"\ninference = true\n[stages.evidence]\ninference = \"run 3\"\ncomposition = \"run 3\"\n";
    assert!(
        Document::parse("f", inference)
            .unwrap()
            .stages
            .unjustified
            .is_empty(),
        "R-808"
    );
}

#[test]
fn each_effective_value_has_an_origin() {
    let document = Document::parse("f", "[mode]\n\ndefault = \"safe_edit\"\n").unwrap();
    let find = |key: &str| {
        document
            .origin()
            .into_iter()
            .find(|setting| setting.key == key)
            .cloned()
            .unwrap()
    };
    assert_eq!(
        (
            find("mode.default").value.as_str(),
            find("mode.default").line
        ),
        ("\"safe_edit\"", Some(3))
    );
    assert_eq!(
        (
            find("mode.ceiling").value.as_str(),
            find("mode.ceiling").line
        ),
        ("safe_edit", None)
    );
    assert_eq!(find("aggregates.session.calls").value, "100000", "X62");
    assert_eq!(find("aggregates.principal.calls").value, "unlimited", "X62");
    assert_eq!(find("budgets.deadline").line, None);
}

#[test]
fn a_limit_that_nothing_enforces_is_named_and_every_other_is_not_r_316() {
    let idle = |text: &str| {
        let document = Document::parse("bindery.toml", text).unwrap();
        document.limits.idle()
    };
    assert!(idle("").is_empty(), "no default holds nothing");
    let counted = "[aggregates.session]\nbinds = 1\nproposals = 2\ncalls = 3\n[rates.principal]\nbinds = '1/1s'\n";
    assert!(idle(counted).is_empty());
    let some = "[aggregates.session]\nsearches = 1\n[aggregates.principal]\nprobes = 2\n[rates.environment]\nsearches = '1/1s'\n";
    let named = [
        "aggregates.session.searches",
        "rates.environment.searches",
        "aggregates.principal.probes",
    ];
    assert_eq!(idle(some), named);
}

#[test]
fn a_fault_says_a_wrong_word_once_and_no_password_at_all() {
    let grant = "[grants.api]\nkind = \"endpoint\"\nmethods = [\"GET\"]\nurl = \"https://me:CANARY@api.test/\"\n";
    let said = faults(grant).join("\n");
    assert!(!said.contains("CANARY"), "{said}");
    assert!(said.contains("https://…@api.test/"), "{said}");
    let said = faults("[[policy.rule]]\ndecision = \"alow\"\n").join("\n");
    assert_eq!(said.matches("alow").count(), 1, "{said}");
}

//! Random documents and questions: most of them nearly permitted, so that each axis gets
//! its turn to decide.

use bindery_types::{
    ApprovalRequirement, BindingStatus, ExecutionState, PermissionMode, Risk, SideEffectClass,
    TrustStatus, ValidationStatus,
};
use serde_json::{Value, json};

use crate::model::*;

/// A small generator of numbers (SplitMix64): the same seed, the same questions.
pub(crate) struct Dice(u64);

pub(crate) const IDS: [&str; 4] = ["acme:p#go", "acme:p#stop", "beta:q/i#go", "beta:q#send"];
/// Public names and ids; one name stands for two.
pub(crate) const CATALOGUE: [(&str, &str); 4] = [
    ("go", IDS[0]),
    ("stop", IDS[1]),
    ("go", IDS[2]),
    ("send", IDS[3]),
];
/// Names that stand for one id, so that a list that permits may hold them.
const SINGLE: [&str; 2] = ["stop", "send"];
const PRINCIPALS: [&str; 2] = ["token:a", "token:b"];
const AGENTS: [&str; 2] = ["cli", "bot"];
const ARCHETYPES: [&str; 2] = ["default", "docs"];
const PROVIDERS: [&str; 2] = ["native", "other"];
const CREDENTIALS: [&str; 2] = ["first", "second"];
const GRANTS: [&str; 5] = ["dir", "dir2", "api", "kv", "conf"];
const METHODS: [&str; 4] = ["DELETE", "GET", "HEAD", "POST"];
const PATHS: [&str; 4] = ["/", "/v1", "/v1/", "/v1/x"];
const WHOSE: [Whose; 3] = [Whose::Session, Whose::Principal, Whose::Environment];

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// True in `percent` of a hundred.
    fn in_100(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()].clone()
    }

    fn some<T: Clone>(&mut self, of: &[T], percent: u64) -> Vec<T> {
        of.iter()
            .filter(|_| self.in_100(percent))
            .cloned()
            .collect()
    }

    fn texts(&mut self, of: &[&str], percent: u64) -> Vec<String> {
        self.some(of, percent)
            .into_iter()
            .map(str::to_owned)
            .collect()
    }

    /// Usually no list; else one that holds most.
    fn list(&mut self, of: &[&str], there: u64) -> Option<Vec<String>> {
        self.in_100(there).then(|| self.texts(of, 75))
    }
}

fn permit_list(dice: &mut Dice, there: u64) -> Option<Vec<String>> {
    dice.in_100(there).then(|| {
        let mut list = dice.texts(&IDS, 80);
        list.extend(dice.texts(&SINGLE, 30));
        list
    })
}

fn forbid_list(dice: &mut Dice, percent: u64) -> Vec<String> {
    let mut list = dice.texts(&IDS, percent);
    list.extend(dice.texts(&["go", "stop", "nothing"], percent));
    list
}

fn rule(dice: &mut Dice, grants: &[Grant]) -> Rule {
    let say = match dice.below(10) {
        0..6 => Say::Allow,
        6..8 => Say::Ask,
        _ => Say::Deny,
    };
    let denies = say == Say::Deny;
    let mut capabilities = dice.texts(&IDS, if denies { 15 } else { 55 });
    let names = if denies {
        forbid_list(dice, 5)
    } else {
        dice.texts(&SINGLE, 20)
    };
    let namespaces = dice.texts(&["acme", "beta", "gone"], if denies { 8 } else { 25 });
    let nothing = capabilities.is_empty() && names.is_empty() && namespaces.is_empty();
    let who = if denies { 70 } else { 12 };
    if nothing && !(denies && dice.in_100(40)) {
        capabilities.push(dice.one(&IDS).to_owned());
    }
    let names_of: Vec<&str> = grants.iter().map(|grant| grant.name.as_str()).collect();
    Rule {
        say,
        capabilities,
        names,
        namespaces,
        principals: dice.list(&PRINCIPALS, who / 2),
        agents: dice.list(&AGENTS, who / 3),
        archetypes: dice.list(&ARCHETYPES, who / 3),
        modes: dice
            .in_100(who / 2)
            .then(|| dice.some(PermissionMode::ALL, 60)),
        risks: dice.in_100(who / 2).then(|| dice.some(Risk::ALL, 60)),
        conditions: if dice.in_100(if denies { 60 } else { 20 }) {
            conditions(dice)
        } else {
            Vec::new()
        },
        grants: if denies {
            Vec::new()
        } else {
            dice.texts(&names_of, 70)
        },
        approval: (!denies && dice.in_100(15)).then(|| dice.one(&ApprovalRequirement::ALL[..3])),
    }
}

const NUMBERS: [i64; 6] = [0, 1, 5, -7, 9_007_199_254_740_993, i64::MAX];

fn conditions(dice: &mut Dice) -> Vec<Condition> {
    let count = 1 + dice.below(2);
    (0..count).map(|_| condition(dice)).collect()
}

fn condition(dice: &mut Dice) -> Condition {
    let number = dice.one(&NUMBERS);
    let scalar = dice.one(&[json!(number), json!("x"), json!(true), json!("/src/a")]);
    let two = vec![scalar.clone(), json!(dice.one(&NUMBERS))];
    let test = match dice.below(14) {
        0 => Test::Eq(scalar),
        1 => Test::Ne(scalar),
        2 => Test::In(two),
        3 => Test::NotIn(two),
        4 => Test::Prefix(dice.one(&["/src", "https://", ""]).to_owned()),
        5 => Test::Host(dice.one(&["a.test", "*.a.test"]).to_owned()),
        6 => Test::PathUnder(dice.one(&["/src", "/src/a/", "/"]).to_owned()),
        7 => Test::Lt(number),
        8 => Test::Le(number),
        9 => Test::Gt(number),
        10 => Test::Ge(number),
        11 => Test::MaxLen(dice.below(7)),
        12 => Test::Present,
        _ => Test::Absent,
    };
    Condition {
        member: dice.one(&["n", "s", "gone"]).to_owned(),
        test,
    }
}

fn arguments(dice: &mut Dice) -> Value {
    let number = dice.one(&NUMBERS);
    let n = dice.one(&[
        json!(number),
        json!(number.to_string()),
        json!(true),
        json!(u64::MAX),
        Value::Null,
    ]);
    let s = dice.one(&[
        json!("x"),
        json!("/src/a"),
        json!("/src/../etc"),
        json!("/src/a/b"),
        json!("src"),
        json!("https://A.test:80/x"),
        json!("https://b.a.test/"),
        json!("http://x@a.test./"),
        json!("https://a.test.b/"),
        json!([1, 2, 3]),
        json!("long enough"),
    ]);
    match dice.below(4) {
        0 => json!({ "n": n }),
        1 => json!({ "s": s }),
        _ => json!({ "n": n, "s": s }),
    }
}

fn grants(dice: &mut Dice) -> Vec<Grant> {
    let mut grants = Vec::new();
    for name in GRANTS {
        if !dice.in_100(if name == "dir2" { 20 } else { 80 }) {
            continue;
        }
        let gives = match name {
            "api" => Gives::Endpoint {
                methods: at_least_one(dice),
                path: dice.one(&PATHS).to_owned(),
                credential: dice.in_100(30).then(|| dice.one(&CREDENTIALS).to_owned()),
            },
            "kv" => Gives::Store {
                write: dice.in_100(40),
            },
            "conf" => Gives::Config,
            _ => Gives::Directory {
                write: dice.in_100(40),
            },
        };
        let raised = dice.in_100(8).then(|| {
            dice.one(&[
                SideEffectClass::ExternalSend,
                SideEffectClass::Financial,
                SideEffectClass::Unknown,
                SideEffectClass::Destructive,
            ])
        });
        grants.push(Grant {
            name: name.to_owned(),
            gives,
            raised,
        });
    }
    grants
}

fn at_least_one(dice: &mut Dice) -> Vec<String> {
    let mut methods = dice.texts(&METHODS, 25);
    if methods.is_empty() {
        methods.push("GET".to_owned());
    }
    methods
}

pub(crate) fn document(dice: &mut Dice) -> Doc {
    let grants = grants(dice);
    let count = 1 + dice.below(6);
    let agents = AGENTS
        .iter()
        .filter(|_| dice.in_100(95))
        .copied()
        .collect::<Vec<_>>();
    Doc {
        namespaces: dice.in_100(10).then(|| dice.texts(&["acme", "beta"], 75)),
        providers: dice.list(&PROVIDERS, 10),
        hidden: forbid_list(dice, 2),
        profile_allowed: permit_list(dice, 15),
        profile_denied: forbid_list(dice, 2),
        agents: agents
            .iter()
            .map(|name| AgentEntry {
                name: (*name).to_owned(),
                active: dice.in_100(95),
                tools: permit_list(dice, 15),
                archetypes: dice.list(&ARCHETYPES, 10),
            })
            .collect(),
        archetypes: dice.list(&ARCHETYPES, 10),
        minimum_trust: dice.one(TrustStatus::ALL),
        denied_effects: dice.some(SideEffectClass::ALL, 2),
        raised_risks: if dice.in_100(10) {
            vec![(
                dice.one(&["go", "acme:p#stop", "send"]).to_owned(),
                dice.one(Risk::ALL),
            )]
        } else {
            Vec::new()
        },
        approvals: if dice.in_100(15) {
            vec![(
                dice.one(&Risk::ALL[..4]),
                dice.one(ApprovalRequirement::ALL),
            )]
        } else {
            Vec::new()
        },
        credentials: CREDENTIALS
            .iter()
            .map(|name| Credential {
                name: (*name).to_owned(),
                agents: dice.list(&AGENTS, 15),
                archetypes: dice.list(&ARCHETYPES, 15),
            })
            .collect(),
        rules: (0..count).map(|_| rule(dice, &grants)).collect(),
        grants,
        fuel_ceiling: dice.in_100(30).then(|| 1_000 + dice.below(3) * 1_000),
        aggregates: counters(dice)
            .into_iter()
            .map(|(whose, name)| (whose, name, dice.below(6)))
            .collect(),
        rates: counters(dice)
            .into_iter()
            .filter(|(_, name)| name != "fuel")
            .map(|(whose, name)| (whose, name, dice.below(6), 1_000))
            .collect(),
        stages: match dice.below(10) {
            0 => vec![1],
            1 => vec![2, 3, 4, 6],
            _ => vec![1, 2, 3, 4, 6, 7],
        },
    }
}

fn counters(dice: &mut Dice) -> Vec<(Whose, String)> {
    let all = WHOSE.iter().flat_map(|whose| {
        ["binds", "calls", "proposals", "fuel"].map(|name| (*whose, name.to_owned()))
    });
    let all: Vec<(Whose, String)> = all.collect();
    dice.some(&all, 8)
}

fn usage(dice: &mut Dice) -> Vec<(Whose, String, u64)> {
    let mut all = Vec::new();
    for whose in WHOSE {
        for name in ["binds", "calls", "proposals", "fuel"] {
            all.push((whose, name.to_owned(), dice.below(4)));
        }
    }
    all
}

fn whole(dice: &mut Dice, grant: &Grant, held: bool) -> Wish {
    let write = |grant: &Grant| {
        matches!(
            grant.gives,
            Gives::Directory { write: true } | Gives::Store { write: true }
        )
    };
    let places = matches!(grant.gives, Gives::Directory { .. } | Gives::Store { .. });
    let mut wish = Wish {
        grant: grant.name.clone(),
        read_only: places && !write(grant),
        methods: None,
        path: None,
    };
    if places && dice.in_100(30) {
        wish.read_only = true;
    }
    if places && held && dice.in_100(4) {
        wish.read_only = false;
    }
    if let Gives::Endpoint { methods, path, .. } = &grant.gives {
        wish.methods = Some(methods.clone()).filter(|_| held || dice.in_100(30));
        wish.path = Some(path.clone()).filter(|_| held || dice.in_100(30));
        if dice.in_100(15) {
            wish.methods = Some(at_least_one(dice));
        }
        if dice.in_100(15) {
            wish.path = Some(dice.one(&PATHS).to_owned());
        }
    }
    wish
}

fn held(dice: &mut Dice, doc: &Doc) -> Held {
    let mostly = |dice: &mut Dice| dice.in_100(98);
    Held {
        own: mostly(dice),
        which: dice.next(),
        status: if dice.in_100(95) {
            BindingStatus::Bound
        } else {
            dice.one(BindingStatus::ALL)
        },
        expired: dice.in_100(2),
        same_capability: mostly(dice),
        same_environment: mostly(dice),
        same_generation: mostly(dice),
        same_catalogue: mostly(dice),
        same_implementation: mostly(dice),
        same_descriptor: mostly(dice),
        same_policy: mostly(dice),
        scope: {
            let few: Vec<&Grant> = doc.grants.iter().filter(|_| dice.in_100(25)).collect();
            few.into_iter()
                .map(|grant| whole(dice, grant, true))
                .collect()
        },
    }
}

fn approved(dice: &mut Dice) -> Approved {
    let mostly = |dice: &mut Dice| dice.in_100(90);
    Approved {
        for_run: dice.in_100(50),
        same_arguments: mostly(dice),
        same_pins: mostly(dice),
        same_principal: mostly(dice),
        same_run: mostly(dice),
        same_scope: mostly(dice),
        expired: dice.in_100(10),
        used: dice.in_100(20),
        which: dice.next(),
    }
}

fn entry(dice: &mut Dice) -> Entry {
    let risk = if dice.in_100(70) {
        Some(Risk::ReadOnly)
    } else {
        Some(dice.one(Risk::ALL))
    };
    let needs = ["directory", "endpoint", "store", "config"].map(|kind| Need {
        kind,
        required: dice.in_100(30),
        write: dice.in_100(40),
    });
    Entry {
        provider: dice.one(&PROVIDERS).to_owned(),
        provider_live: dice.in_100(97),
        shown: dice.in_100(97),
        late_bound: dice.in_100(60),
        execution: if dice.in_100(95) {
            Some(ExecutionState::Available)
        } else {
            dice.one(&[
                None,
                Some(ExecutionState::ContractOnly),
                Some(ExecutionState::Planned),
            ])
        },
        trust: if dice.in_100(85) {
            TrustStatus::HostVerified
        } else {
            dice.one(TrustStatus::ALL)
        },
        validation: if dice.in_100(96) {
            ValidationStatus::Bindable
        } else {
            dice.one(ValidationStatus::ALL)
        },
        risk: risk.filter(|_| dice.in_100(50)),
        read_only: dice.in_100(20).then(|| dice.in_100(60)),
        effect: dice.in_100(12).then(|| dice.one(SideEffectClass::ALL)),
        approval: if dice.in_100(70) {
            Some(ApprovalRequirement::NoApproval)
        } else {
            dice.one(&[
                None,
                Some(ApprovalRequirement::ConfirmOnce),
                Some(ApprovalRequirement::ConfirmOnce),
                Some(ApprovalRequirement::ConfirmEveryTime),
                Some(ApprovalRequirement::ConfirmEveryTime),
                Some(ApprovalRequirement::Blocked),
            ])
        },
        agents: dice.list(&AGENTS, 10),
        archetypes: dice.list(&ARCHETYPES, 10),
        credentials: dice.texts(&CREDENTIALS, 12),
        needs: dice.some(&needs, 30),
    }
}

pub(crate) fn question(dice: &mut Dice, doc: &Doc) -> Question {
    let verb = dice.one(&[
        Verb::Bind,
        Verb::Bind,
        Verb::Call,
        Verb::Call,
        Verb::Call,
        Verb::Refresh,
    ]);
    Question {
        verb,
        id: dice.one(&IDS).to_owned(),
        principal: dice.one(&PRINCIPALS).to_owned(),
        model: dice.in_100(70),
        agent: dice.one(&AGENTS).to_owned(),
        archetype: dice.one(&ARCHETYPES).to_owned(),
        mode: if dice.in_100(60) {
            PermissionMode::FullAccess
        } else {
            dice.one(PermissionMode::ALL)
        },
        session_allow: permit_list(dice, 12),
        session_deny: forbid_list(dice, 2),
        project_allow: permit_list(dice, 20),
        project_deny: forbid_list(dice, 3),
        admitted: dice.in_100(98),
        asked_generation_is_current: dice.in_100(98),
        revoked: dice.in_100(2),
        implementation: dice.one(&[
            Some(true),
            Some(true),
            Some(true),
            Some(true),
            Some(true),
            Some(true),
            Some(true),
            None,
            Some(false),
        ]),
        descriptor: dice.one(&[
            None,
            None,
            None,
            None,
            None,
            Some(true),
            Some(true),
            Some(true),
            Some(false),
        ]),
        scope: dice.in_100(60).then(|| {
            let few: Vec<&Grant> = doc.grants.iter().filter(|_| dice.in_100(30)).collect();
            few.into_iter()
                .map(|grant| whole(dice, grant, false))
                .collect()
        }),
        asked_fuel: dice.in_100(25).then(|| 1_000 + dice.below(4) * 500),
        entry: dice.in_100(97).then(|| entry(dice)),
        held: (verb != Verb::Bind && dice.in_100(98)).then(|| held(dice, doc)),
        configured: dice.texts(&CREDENTIALS, 90),
        gate: dice.in_100(80),
        arguments: arguments(dice),
        approvals: if dice.in_100(60) {
            (0..1 + dice.below(3)).map(|_| approved(dice)).collect()
        } else {
            Vec::new()
        },
        used: usage(dice),
        windows: usage(dice)
            .into_iter()
            .map(|(whose, name, count)| (whose, name, count, dice.below(1_500)))
            .filter(|(_, name, _, _)| name != "fuel")
            .collect(),
    }
}

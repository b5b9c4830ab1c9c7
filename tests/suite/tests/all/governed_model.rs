//! The reference of the governed machine: what each verb must come to, out of plain lists.
//!
//! Rule: nothing of the product is in here. It knows no records, digests or decisions; a
//! policy is one of four letters, a scope is whether it may write and until when.

use std::collections::{BTreeMap, BTreeSet};

pub(crate) const MINUTE: u64 = 60_000;
/// Where the clock of a machine begins.
pub(crate) const START: u64 = 1_700_000_000_000;
/// How long a lease is when nothing is said, and a question waits for its answer.
const USUAL: u64 = 10 * MINUTE;
/// Calls that a session may start.
pub(crate) const CALLS: u64 = 6;
pub(crate) const SLOTS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Which {
    /// No grants, no effects.
    Reader,
    /// Adds to a store.
    Writer,
}

/// The rules there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rules {
    #[default]
    Both,
    ReaderOnly,
    AskForWriter,
    /// Both, and a rule about something else.
    BothOtherwise,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Aim {
    Capability(Which),
    Principal(usize),
    All,
}

/// One thing that is done; numbers are places in lists.
#[derive(Clone, Debug)]
pub(crate) enum Verb {
    Admit(Which),
    Open {
        slot: usize,
        principal: usize,
    },
    End {
        slot: usize,
        cancel: bool,
    },
    Bind {
        slot: usize,
        which: Which,
        writing: bool,
        ttl: Option<u64>,
    },
    Narrow {
        slot: usize,
        binding: usize,
        writing: bool,
        ttl: Option<u64>,
    },
    Call {
        slot: usize,
        binding: usize,
        key: Option<u8>,
        argument: u8,
    },
    Release {
        slot: usize,
        binding: usize,
    },
    RevokeBinding(usize),
    Revoke(Aim),
    Lift(Aim),
    Reload(Rules),
    /// A document that names what is not there.
    BadReload,
    Approve(usize),
    Deny(usize),
    Restart,
    Clock(i64),
    /// Everything that only looks.
    Look(usize),
}

/// What a verb must come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Done; a new binding, session or nothing comes of it.
    #[default]
    Done,
    /// A value, and whether an effect happened for it.
    Value { effect: bool, fresh: bool },
    /// A question: a new one, or one that was asked before.
    Asked { proposal: usize },
    /// No, with this word.
    No(&'static str),
}

#[derive(Clone, Debug)]
pub(crate) struct Opened {
    /// Which of all sessions that there ever were.
    pub(crate) number: usize,
    pub(crate) principal: usize,
    pub(crate) started: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// Which of all sessions it is of.
    pub(crate) session: usize,
    pub(crate) which: Which,
    pub(crate) build: u64,
    pub(crate) writing: bool,
    pub(crate) until: u64,
    pub(crate) parent: Option<usize>,
    pub(crate) ended: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Pending,
    Yes,
    No,
    Used,
    /// What it was about is over, or its time is.
    Void,
}

#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) session: usize,
    pub(crate) binding: usize,
    pub(crate) argument: u8,
    pub(crate) rules: Rules,
    pub(crate) until: u64,
    pub(crate) answer: Answer,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) now: u64,
    /// What the system's clock says, which may go back.
    pub(crate) clock: u64,
    pub(crate) rules: Rules,
    pub(crate) builds: BTreeMap<Which, u64>,
    pub(crate) slots: [Option<Opened>; SLOTS],
    pub(crate) sessions: usize,
    pub(crate) bindings: Vec<Held>,
    pub(crate) questions: Vec<Question>,
    pub(crate) switches: BTreeSet<Aim>,
    /// Principal, capability, build, key: the argument.
    pub(crate) keys: BTreeMap<(usize, Which, u64, u8), u8>,
    /// Effects, by argument.
    pub(crate) effects: BTreeMap<u8, u64>,
    pub(crate) expected: Expected,
}

impl Model {
    pub(crate) fn new() -> Self {
        Self {
            now: START,
            clock: START,
            builds: BTreeMap::from([(Which::Reader, 0), (Which::Writer, 0)]),
            ..Self::default()
        }
    }

    /// Whether the verb speaks of things that there are; and no two answers fit one call, of
    /// which the host may use either.
    pub(crate) fn allows(&self, verb: &Verb) -> bool {
        match verb {
            Verb::Narrow { binding, .. }
            | Verb::Call { binding, .. }
            | Verb::Release { binding, .. }
            | Verb::RevokeBinding(binding) => *binding < self.bindings.len(),
            Verb::Deny(question) => *question < self.questions.len(),
            Verb::Approve(question) => {
                let Some(asked) = self.questions.get(*question) else {
                    return false;
                };
                !self.questions.iter().any(|other| {
                    other.answer == Answer::Yes
                        && other.session == asked.session
                        && other.argument == asked.argument
                })
            }
            _ => true,
        }
    }

    fn permits(&self, which: Which) -> bool {
        which == Which::Reader || self.rules != Rules::ReaderOnly
    }

    fn switched(&self, which: Which, principal: usize) -> bool {
        self.switches.iter().any(|aim| match aim {
            Aim::Capability(of) => *of == which,
            Aim::Principal(of) => *of == principal,
            Aim::All => true,
        })
    }

    fn principal_of(&self, session: usize) -> Option<usize> {
        let open = self.slots.iter().flatten();
        open.filter(|open| open.number == session)
            .map(|open| open.principal)
            .next()
    }

    /// Ends a binding and whatever was narrowed from it.
    fn end(&mut self, binding: usize, word: &'static str) {
        if self.bindings[binding].ended.is_none() {
            self.bindings[binding].ended = Some(word);
            // What hangs on it goes with it, by the same word.
            for child in 0..self.bindings.len() {
                if self.bindings[child].parent == Some(binding) {
                    self.end(child, word);
                }
            }
        }
    }

    fn end_where(&mut self, hit: impl Fn(&Self, &Held) -> bool, word: &'static str) {
        for binding in 0..self.bindings.len() {
            let held = &self.bindings[binding];
            if held.ended.is_none() && hit(self, held) {
                self.end(binding, word);
            }
        }
    }

    /// Why the binding cannot be used in the slot, if it cannot.
    fn unusable(&self, slot: usize, binding: usize) -> Option<&'static str> {
        let Some(open) = &self.slots[slot] else {
            return Some("handle_invalid");
        };
        let held = &self.bindings[binding];
        if held.session != open.number {
            return Some("handle_invalid");
        }
        if let Some(word) = held.ended {
            return Some(word);
        }
        (held.until <= self.now).then_some("binding_stale")
    }

    /// Does the verb, and says what it must come to.
    pub(crate) fn step(&mut self, verb: &Verb) {
        self.now = self.now.max(self.clock);
        self.void_questions();
        self.expected = match verb {
            Verb::Admit(which) => {
                *self.builds.entry(*which).or_default() += 1;
                let (which, now) = (*which, self.now);
                self.end_where(
                    |_, held| held.which == which || held.until <= now,
                    "binding_stale",
                );
                Expected::Done
            }
            Verb::Open { slot, principal } => {
                self.close(*slot);
                self.slots[*slot] = Some(Opened {
                    number: self.sessions,
                    principal: *principal,
                    started: 0,
                });
                self.sessions += 1;
                Expected::Done
            }
            Verb::End { slot, .. } => match self.close(*slot) {
                true => Expected::Done,
                false => Expected::No("handle_invalid"),
            },
            Verb::Bind {
                slot,
                which,
                writing,
                ttl,
            } => self.bind(*slot, *which, *writing, *ttl),
            Verb::Narrow {
                slot,
                binding,
                writing,
                ttl,
            } => self.narrow(*slot, *binding, *writing, *ttl),
            Verb::Call {
                slot,
                binding,
                key,
                argument,
            } => self.call(*slot, *binding, *key, *argument),
            Verb::Release { slot, binding } => match self.unusable(*slot, *binding) {
                Some(word) => Expected::No(word),
                None => {
                    self.end(*binding, "binding_stale");
                    Expected::Done
                }
            },
            Verb::RevokeBinding(binding) => self.revoke_binding(*binding),
            Verb::Revoke(aim) => {
                if self.switches.insert(*aim) {
                    let aim = *aim;
                    self.end_where(
                        |model, held| match aim {
                            Aim::Capability(which) => held.which == which,
                            Aim::Principal(of) => model.principal_of(held.session) == Some(of),
                            Aim::All => true,
                        },
                        "capability_revoked",
                    );
                    Expected::Done
                } else {
                    Expected::No("internal")
                }
            }
            Verb::Lift(aim) => match self.switches.remove(aim) {
                true => Expected::Done,
                false => Expected::No("handle_invalid"),
            },
            Verb::Reload(rules) => {
                if self.rules != *rules {
                    self.rules = *rules;
                    // What is over cannot be pinned anew, and what is not permitted is not.
                    let now = self.now;
                    self.end_where(
                        |model, held| held.until <= now || !model.permits(held.which),
                        "binding_stale",
                    );
                }
                Expected::Done
            }
            Verb::BadReload => Expected::No("policy_malformed"),
            Verb::Approve(question) => self.answer(*question, Answer::Yes),
            Verb::Deny(question) => self.answer(*question, Answer::No),
            Verb::Restart => {
                for slot in 0..SLOTS {
                    self.close(slot);
                }
                Expected::Done
            }
            Verb::Clock(by) => {
                self.clock = self.clock.saturating_add_signed(*by);
                self.now = self.now.max(self.clock);
                Expected::Done
            }
            Verb::Look(_) => Expected::Done,
        };
        self.void_questions();
    }

    /// a question about what is over, or under other rules, has no answer any more,
    /// and never gets one again.
    fn void_questions(&mut self) {
        for question in &mut self.questions {
            let open = matches!(question.answer, Answer::Pending | Answer::Yes);
            let over = self.bindings[question.binding].ended.is_some()
                || question.rules != self.rules
                || question.until <= self.now;
            if open && over {
                question.answer = Answer::Void;
            }
        }
    }

    /// Bindings of a session that is over are nobody's; questions go with it.
    fn close(&mut self, slot: usize) -> bool {
        let Some(open) = self.slots[slot].take() else {
            return false;
        };
        for held in &mut self.bindings {
            if held.session == open.number {
                held.ended = Some("handle_invalid");
            }
        }
        true
    }

    fn bind(&mut self, slot: usize, which: Which, writing: bool, ttl: Option<u64>) -> Expected {
        let Some(open) = self.slots[slot].clone() else {
            return Expected::No("handle_invalid");
        };
        if self.switched(which, open.principal) {
            return Expected::No("capability_revoked");
        }
        if !self.permits(which) {
            return Expected::No("binding_denied");
        }
        self.bindings.push(Held {
            session: open.number,
            which,
            build: self.builds[&which],
            writing,
            until: self.now + ttl.unwrap_or(USUAL),
            parent: None,
            ended: None,
        });
        Expected::Done
    }

    fn narrow(&mut self, slot: usize, binding: usize, writing: bool, ttl: Option<u64>) -> Expected {
        if let Some(word) = self.unusable(slot, binding) {
            return Expected::No(word);
        }
        let wide = self.bindings[binding].clone();
        let until = ttl.map_or(wide.until, |ttl| wide.until.min(self.now + ttl));
        self.bindings.push(Held {
            writing: wide.writing && writing,
            until,
            parent: Some(binding),
            ..wide
        });
        Expected::Done
    }

    fn call(&mut self, slot: usize, binding: usize, key: Option<u8>, argument: u8) -> Expected {
        if let Some(word) = self.unusable(slot, binding) {
            return Expected::No(word);
        }
        let held = self.bindings[binding].clone();
        let open = self.slots[slot].clone().unwrap();
        if open.started >= CALLS {
            return Expected::No("budget_exhausted");
        }
        let mut uses = None;
        if self.rules == Rules::AskForWriter && held.which == Which::Writer {
            let now = self.now;
            let mine = |question: &Question| {
                question.session == held.session
                    && question.rules == Rules::AskForWriter
                    && question.argument == argument
                    && question.until > now
            };
            // A yes is for everything of equal scope in the session; a question that still
            // waits is for its own binding.
            let yes = self.questions.iter().position(|question| {
                let asked = &self.bindings[question.binding];
                mine(question)
                    && question.answer == Answer::Yes
                    && asked.writing == held.writing
                    && asked.build == held.build
            });
            if yes.is_none() {
                let waits = self.questions.iter().position(|question| {
                    mine(question)
                        && question.answer == Answer::Pending
                        && question.binding == binding
                });
                let proposal = waits.unwrap_or_else(|| {
                    self.questions.push(Question {
                        session: held.session,
                        binding,
                        argument,
                        rules: self.rules,
                        until: held.until.min(now + USUAL),
                        answer: Answer::Pending,
                    });
                    self.questions.len() - 1
                });
                return Expected::Asked { proposal };
            }
            uses = yes;
        }
        let place = key.map(|key| (open.principal, held.which, held.build, key));
        if let Some(place) = place {
            match self.keys.get(&place) {
                Some(same) if *same == argument => {
                    return Expected::Value {
                        effect: false,
                        fresh: false,
                    };
                }
                Some(_) => return Expected::No("idempotency_conflict"),
                None => {
                    self.keys.insert(place, argument);
                }
            }
        }
        if let Some(question) = uses {
            self.questions[question].answer = Answer::Used;
        }
        if let Some(open) = &mut self.slots[slot] {
            open.started += 1;
        }
        let effect = held.which == Which::Writer && held.writing;
        if effect {
            *self.effects.entry(argument).or_default() += 1;
        }
        Expected::Value {
            effect,
            fresh: true,
        }
    }

    fn revoke_binding(&mut self, binding: usize) -> Expected {
        if self.bindings[binding].ended == Some("handle_invalid") {
            return Expected::No("handle_invalid");
        }
        self.end(binding, "capability_revoked");
        Expected::Done
    }

    fn answer(&mut self, question: usize, answer: Answer) -> Expected {
        let asked = self.questions[question].clone();
        if self.principal_of(asked.session).is_none() {
            return Expected::No("handle_invalid");
        }
        if asked.answer != Answer::Pending {
            return Expected::No("approval_required");
        }
        self.questions[question].answer = answer;
        Expected::Done
    }
}

//! The reference model of the random sequences: plain maps, and for each verb whether it must
//! be accepted. It knows nothing of records and shares no line with the ledger.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::{MINUTE, START};

pub(crate) const FUEL: u64 = 120;

#[derive(Clone, Debug)]
pub(crate) enum Verb {
    Open(u64),
    Close(u64),
    Bind {
        b: u64,
        s: u64,
        lease: u64,
        parent: Option<u64>,
    },
    Release {
        b: u64,
        s: u64,
    },
    Revoke(u64),
    RevokePrincipal(u64),
    Renew {
        b: u64,
        lease: u64,
    },
    Refresh(u64),
    Raise,
    Policy,
    Clock(i64),
    Search(u64),
    Start {
        c: u64,
        s: u64,
        b: u64,
        key: Option<u64>,
        arguments: u64,
        fuel: u64,
        approval: Option<u64>,
    },
    End {
        c: u64,
        how: u8,
        fuel: u64,
    },
    Reconcile {
        c: u64,
        done: bool,
    },
    Ask {
        p: u64,
        s: u64,
        b: u64,
        arguments: u64,
    },
    Approve(u64),
}

#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) session: u64,
    pub(crate) until: u64,
    pub(crate) parent: Option<u64>,
    pub(crate) alive: bool,
    pub(crate) generation: u64,
    pub(crate) policy: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Key {
    Running,
    Done,
    Again,
    Unknown,
}

#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) session: u64,
    pub(crate) arguments: u64,
    pub(crate) generation: u64,
    pub(crate) policy: u64,
    pub(crate) until: u64,
    pub(crate) approved: bool,
    pub(crate) used: bool,
}

/// What the model remembers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) sessions: BTreeSet<u64>,
    pub(crate) held: BTreeMap<u64, Held>,
    pub(crate) calls: BTreeMap<u64, (u64, Option<u64>, u64, bool)>,
    pub(crate) keys: BTreeMap<(u64, u64), (u64, Key)>,
    pub(crate) asked: BTreeMap<u64, Asked>,
    /// Principals that are switched off.
    pub(crate) off: BTreeSet<u64>,
    pub(crate) generation: u64,
    pub(crate) policy: u64,
    pub(crate) clock: u64,
    /// The latest moment that a record named.
    pub(crate) seen: u64,
    /// When each build was last looked at by generation.
    pub(crate) looked: u64,
    pub(crate) spent: u64,
    /// Whether the last verb had to be accepted.
    pub(crate) accepted: bool,
}

impl Model {
    pub(crate) fn now(&self) -> u64 {
        self.seen.max(self.clock)
    }

    pub(crate) fn live(&self, b: u64, s: u64) -> Option<&Held> {
        let held = self.held.get(&b)?;
        (held.session == s && held.alive && self.now() < held.until).then_some(held)
    }

    pub(crate) fn kill(&mut self, b: u64) {
        let below: Vec<u64> = self
            .held
            .iter()
            .filter(|(_, held)| held.parent == Some(b) && held.alive)
            .map(|(n, _)| *n)
            .collect();
        if let Some(held) = self.held.get_mut(&b) {
            held.alive = false;
        }
        for n in below {
            self.kill(n);
        }
    }

    pub(crate) fn reserved(&self) -> u64 {
        self.calls
            .values()
            .filter(|call| !call.3)
            .map(|call| call.2)
            .sum()
    }

    pub(crate) fn may_bind(&self, b: u64, s: u64, lease: u64, parent: Option<u64>) -> bool {
        let until = self.clock + lease;
        let within = parent.is_none_or(|p| self.live(p, s).is_some_and(|held| until <= held.until));
        self.sessions.contains(&s)
            && !self.held.contains_key(&b)
            && !self.off.contains(&(s % 2))
            && self.looked == self.generation
            && until > self.now()
            && within
    }

    pub(crate) fn may_start(&self, verb: &Verb) -> bool {
        let Verb::Start {
            c,
            s,
            b,
            key,
            arguments,
            fuel,
            approval,
        } = verb
        else {
            return false;
        };
        let Some(held) = self.live(*b, *s) else {
            return false;
        };
        let current = held.generation == self.generation && held.policy == self.policy;
        let key = key.and_then(|key| self.keys.get(&(s % 2, key)));
        let key = key.is_none_or(|(with, stands)| with == arguments && *stands == Key::Again);
        let approval = approval.is_none_or(|p| {
            self.asked.get(&p).is_some_and(|asked| {
                asked.session == *s
                    && asked.approved
                    && !asked.used
                    && asked.arguments == *arguments
                    && asked.generation == self.generation
                    && asked.policy == self.policy
                    && self.now() < asked.until
            })
        });
        let room = self.spent + self.reserved() + fuel <= FUEL;
        self.sessions.contains(s)
            && current
            && !self.off.contains(&(s % 2))
            && !self.calls.contains_key(c)
            && key
            && approval
            && room
    }

    /// The fate of a verb, and what it changes.
    pub(crate) fn does(&mut self, verb: &Verb) -> bool {
        match verb {
            Verb::Open(s) => self.sessions.insert(*s),
            Verb::Close(s) => {
                let open = self.sessions.remove(s);
                if open {
                    self.held.retain(|_, held| held.session != *s);
                    self.asked.retain(|_, asked| asked.session != *s);
                }
                open
            }
            Verb::Bind {
                b,
                s,
                lease,
                parent,
            } => {
                let may = self.may_bind(*b, *s, *lease, *parent);
                if may {
                    let held = Held {
                        session: *s,
                        until: self.clock + lease,
                        parent: *parent,
                        alive: true,
                        generation: self.generation,
                        policy: self.policy,
                    };
                    self.held.insert(*b, held);
                }
                may
            }
            Verb::Release { b, s } => {
                let may = self.sessions.contains(s)
                    && self
                        .held
                        .get(b)
                        .is_some_and(|held| held.session == *s && held.alive);
                if may {
                    self.kill(*b);
                }
                may
            }
            Verb::Revoke(b) => {
                let known = self.held.contains_key(b);
                if self.held.get(b).is_some_and(|held| held.alive) {
                    self.kill(*b);
                }
                known
            }
            Verb::RevokePrincipal(who) => {
                // The second throw lifts it.
                if !self.off.insert(*who) {
                    self.off.remove(who);
                    return true;
                }
                let hit: Vec<u64> = self
                    .held
                    .iter()
                    .filter(|(_, held)| held.session % 2 == *who && held.alive)
                    .map(|(b, _)| *b)
                    .collect();
                for b in hit {
                    self.kill(b);
                }
                true
            }
            Verb::Renew { b, lease } => {
                let until = self.clock + lease;
                let Some(held) = self.held.get(b).cloned() else {
                    return false;
                };
                let within = held
                    .parent
                    .is_none_or(|p| self.live(p, held.session).is_some_and(|p| until <= p.until));
                let may = self.live(*b, held.session).is_some() && until > self.now() && within;
                if let Some(held) = self.held.get_mut(b).filter(|_| may) {
                    held.until = until;
                }
                may
            }
            Verb::Refresh(b) => {
                let Some(session) = self.held.get(b).map(|held| held.session) else {
                    return false;
                };
                let may = self.live(*b, session).is_some() && !self.off.contains(&(session % 2));
                let (generation, policy) = (self.generation, self.policy);
                if let Some(held) = self.held.get_mut(b).filter(|_| may) {
                    held.generation = generation;
                    held.policy = policy;
                }
                may
            }
            Verb::Raise => {
                self.generation += 1;
                self.looked = self.generation;
                true
            }
            Verb::Policy => {
                self.policy += 1;
                true
            }
            Verb::Clock(ms) => {
                self.clock = self.clock.saturating_add_signed(*ms).max(START);
                false
            }
            Verb::Search(s) => self.sessions.contains(s) || !self.sessions.contains(s),
            Verb::Start {
                c,
                s,
                b: _,
                key,
                arguments,
                fuel,
                approval,
            } => {
                let may = self.may_start(verb);
                if may {
                    let held = key.map(|key| (s % 2, key));
                    if let Some(held) = held {
                        self.keys.insert(held, (*arguments, Key::Running));
                    }
                    if let Some(asked) = approval.and_then(|p| self.asked.get_mut(&p)) {
                        asked.used = true;
                    }
                    self.calls.insert(*c, (*s, *key, *fuel, false));
                }
                may
            }
            Verb::End { c, how, fuel } => {
                let Some((s, key, reserve, uncertain)) = self.calls.get(c).copied() else {
                    return false;
                };
                if uncertain {
                    return false;
                }
                let key = key.map(|key| (s % 2, key));
                let (stands, spent) = match how {
                    0 => (Key::Done, *fuel),
                    1 => (Key::Again, *fuel),
                    _ => (Key::Unknown, reserve),
                };
                self.spent += spent;
                if let Some(entry) = key.and_then(|key| self.keys.get_mut(&key)) {
                    entry.1 = stands;
                }
                if stands == Key::Unknown {
                    self.calls.insert(*c, (s, key.map(|key| key.1), 0, true));
                } else {
                    self.calls.remove(c);
                }
                true
            }
            Verb::Reconcile { c, done } => {
                let Some((s, key, _, true)) = self.calls.get(c).copied() else {
                    return false;
                };
                self.calls.remove(c);
                if let Some(entry) = key.and_then(|key| self.keys.get_mut(&(s % 2, key))) {
                    entry.1 = if *done { Key::Done } else { Key::Again };
                }
                true
            }
            Verb::Ask { p, s, b, arguments } => {
                let may = self.sessions.contains(s)
                    && !self.asked.contains_key(p)
                    && self.held.get(b).is_some_and(|held| held.session == *s)
                    && self.clock + 5 * MINUTE > self.now();
                if may {
                    let asked = Asked {
                        session: *s,
                        arguments: *arguments,
                        generation: self.generation,
                        policy: self.policy,
                        until: self.clock + 5 * MINUTE,
                        approved: false,
                        used: false,
                    };
                    self.asked.insert(*p, asked);
                }
                may
            }
            Verb::Approve(p) => {
                let (generation, policy, now) = (self.generation, self.policy, self.now());
                let asked = self.asked.get_mut(p).filter(|asked| {
                    !asked.approved
                        && asked.generation == generation
                        && asked.policy == policy
                        && now < asked.until
                });
                asked.map(|asked| asked.approved = true).is_some()
            }
        }
    }
}

//! Budgets: every limit of a run, its unit, default, ceiling and meaning, in one table.
//!
//! Rule: every limit has a finite default, 0 means none allowed, and only the word
//! `unlimited` lifts one. The table below generates the command line's `--limit`, the
//! documentation and the `limits` of a receipt.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// What a limit's number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Units of guest computation.
    Fuel,
    /// Milliseconds; written `250ms`, `2s`, `1m`.
    Millis,
    /// Bytes; written `65536`, `64KiB`, `1MiB`, `1GiB`.
    Bytes,
    /// A plain number of things.
    Count,
}

/// Whether a limit belongs to one call or to the host that serves all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitScope {
    /// Each call has its own.
    Call,
    /// Set once, when the host is built.
    Host,
}

/// A finite bound, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// At most this much; 0 allows nothing.
    Finite(u64),
    /// No bound; said in words only.
    Unlimited,
}

impl Limit {
    /// The bound as a number, `u64::MAX` for none.
    pub fn or_max(self) -> u64 {
        match self {
            Limit::Finite(value) => value,
            Limit::Unlimited => u64::MAX,
        }
    }

    /// The bound as a size in memory, `usize::MAX` for none.
    pub fn or_max_usize(self) -> usize {
        usize::try_from(self.or_max()).unwrap_or(usize::MAX)
    }

    /// Whether `used` is within the bound.
    pub fn allows(self, used: u64) -> bool {
        used <= self.or_max()
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Finite(value) => value.fmt(f),
            Limit::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Limit::Finite(value) => serializer.serialize_u64(*value),
            Limit::Unlimited => serializer.serialize_str("unlimited"),
        }
    }
}

macro_rules! limits {
    ($( $variant:ident $name:literal $unit:ident $scope:ident = $default:expr, ceiling $ceiling:expr; $docs:literal )*) => {
        /// The name of a limit, as errors, receipts, configuration and `--limit` spell it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum LimitName { $( #[doc = $docs] $variant, )* }

        impl LimitName {
            /// Every limit, in the order of the documentation.
            pub const ALL: &'static [LimitName] = &[ $( LimitName::$variant, )* ];

            /// The name on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $( LimitName::$variant => $name, )* }
            }

            /// What its number counts.
            pub fn unit(self) -> Unit {
                match self { $( LimitName::$variant => Unit::$unit, )* }
            }

            /// Whom it belongs to.
            pub fn scope(self) -> LimitScope {
                match self { $( LimitName::$variant => LimitScope::$scope, )* }
            }

            /// The default of its own; `lift` depends on `output`, see [`Budget::get`].
            pub fn default_value(self) -> u64 {
                match self { $( LimitName::$variant => $default, )* }
            }

            /// The highest value the host accepts by default, if it has one.
            pub fn ceiling(self) -> Option<u64> {
                match self { $( LimitName::$variant => $ceiling, )* }
            }

            /// One sentence: what is bounded.
            pub fn docs(self) -> &'static str {
                match self { $( LimitName::$variant => $docs, )* }
            }
        }
    };
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

limits! {
    Fuel "fuel" Fuel Call = 50_000_000_000, ceiling None; "computation of the guest and the host's work for it, in fuel"
    Deadline "deadline" Millis Call = 2_000, ceiling None; "wall time of the call"
    Memory "memory" Bytes Call = 64 * MIB, ceiling Some(GIB); "linear memory, summed over all memories of the call"
    TableElements "table_elements" Count Call = 20_000, ceiling None; "elements of one table"
    Instances "instances" Count Call = 64, ceiling None; "core instances"
    Memories "memories" Count Call = 16, ceiling None; "linear memories"
    Tables "tables" Count Call = 64, ceiling None; "tables"
    Handles "handles" Count Call = 1_024, ceiling None; "live resource handles"
    HostCalls "host_calls" Count Call = 100_000, ceiling None; "calls from the guest to the host"
    Arguments "arguments" Bytes Call = MIB, ceiling None; "text of the arguments"
    Output "output" Bytes Call = 256 * KIB, ceiling None; "JSON text of the result"
    Lift "lift" Bytes Call = MIB, ceiling None; "bytes copied out of the guest, per host call and for the result (default: 1 MiB or twice `output`, whichever is more)"
    Stdout "stdout" Bytes Call = 64 * KIB, ceiling None; "standard output kept; the rest is dropped and counted"
    Stderr "stderr" Bytes Call = 64 * KIB, ceiling None; "standard error kept; the rest is dropped and counted"
    Log "log" Bytes Call = 64 * KIB, ceiling None; "log text kept; the rest is dropped and counted"
    Random "random" Bytes Call = 64 * KIB, ceiling Some(16 * MIB); "random bytes that one host call gives"
    WrittenBytes "written_bytes" Bytes Call = 64 * MIB, ceiling None; "bytes written through one directory grant"
    NewEntries "new_entries" Count Call = 1_000, ceiling None; "files, directories and links made through one directory grant"
    Listing "listing" Count Call = 100_000, ceiling None; "entries of one directory listing"
    HttpTime "http_time" Millis Call = 30_000, ceiling None; "wall time of one HTTP request, its body included"
    HttpRequestBody "http_request_body" Bytes Call = MIB, ceiling None; "body of one HTTP request"
    HttpResponseBody "http_response_body" Bytes Call = MIB, ceiling None; "body of one HTTP response"
    HttpUrl "http_url" Bytes Call = 8 * KIB, ceiling Some(32 * KIB); "path and query of one HTTP request"
    HttpFields "http_fields" Bytes Call = 32 * KIB, ceiling Some(128 * KIB); "one list of HTTP fields that a component makes, with the host's bookkeeping"
    HttpHead "http_head" Bytes Call = 32 * KIB, ceiling Some(128 * KIB); "names and values in the head of one HTTP response"
    HttpHeadFields "http_head_fields" Count Call = 256, ceiling Some(4_096); "fields in the head of one HTTP response"
    HttpInFlight "http_in_flight" Count Call = 8, ceiling None; "HTTP requests at once"
    EgressBytes "egress_bytes" Bytes Call = 64 * MIB, ceiling None; "bytes sent to and received from the network, all requests together"
    StoreKey "store_key" Bytes Call = KIB, ceiling None; "one key of a store"
    StoreValue "store_value" Bytes Call = 512 * KIB, ceiling None; "one value of a store, when it is written"
    StoreRead "store_read" Bytes Call = MIB, ceiling None; "values that one reading of a store gives"
    StoreEntries "store_entries" Count Call = 10_000, ceiling None; "keys that a store may come to have through the call"
    StoreBytes "store_bytes" Bytes Call = 64 * MIB, ceiling None; "keys and values together that a store may come to have through the call"
    NestedDepth "nested_depth" Count Call = 8, ceiling None; "depth of capabilities calling capabilities"
    JsonDepth "json_depth" Count Call = 64, ceiling Some(64); "nesting of JSON and of types"
    JsonNodes "json_nodes" Count Call = 100_000, ceiling None; "values inside one JSON text"
    Component "component" Bytes Host = 64 * MIB, ceiling None; "size of a component"
    CompileTime "compile_time" Millis Host = 60_000, ceiling None; "processor time of compiling one component, rounded up to a second; its wall time may be 5 times as much"
    CompileMemory "compile_memory" Bytes Host = GIB, ceiling None; "address space of the compiling process"
    Concurrent "concurrent" Count Host = 32, ceiling None; "runs at once"
    Waiting "waiting" Count Host = 1_024, ceiling None; "calls waiting for a run to end"
}

/// A value that is no value of its limit.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum LimitValueError {
    /// No limit has this name.
    #[error(
        "no limit is named `{name}`{}; the limits are: {}",
        nearest_clause(name),
        all_names()
    )]
    UnknownName {
        /// the name given
        name: String,
    },
    /// The text is not a number of the limit's unit.
    #[error("`{text}` is no value of limit `{}`: expected {} or `unlimited`", name.as_str(), unit_form(*.name))]
    Malformed {
        /// the limit
        name: LimitName,
        /// the text given
        text: String,
    },
    /// Above what the host allows.
    #[error("limit `{}` may be at most {ceiling} here, {asked} was asked", name.as_str())]
    AboveCeiling {
        /// the limit
        name: LimitName,
        /// what was asked
        asked: Limit,
        /// what the host allows
        ceiling: u64,
    },
}

fn unit_form(name: LimitName) -> &'static str {
    match name.unit() {
        Unit::Fuel => "a whole number of fuel units (`50000000` or `5e7`)",
        Unit::Millis => "a time such as `250ms`, `2s` or `1m`",
        Unit::Bytes => "a size such as `65536`, `64KiB` or `1MiB`",
        Unit::Count => "a whole number",
    }
}

fn all_names() -> String {
    let names: Vec<&str> = LimitName::ALL.iter().map(|name| name.as_str()).collect();
    names.join(", ")
}

fn nearest_clause(name: &str) -> String {
    let letters = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
    let asked = letters(name);
    LimitName::ALL
        .iter()
        .find(|known| {
            letters(known.as_str()).starts_with(&asked)
                || asked.starts_with(&letters(known.as_str()))
        })
        .filter(|_| !asked.is_empty())
        .map_or_else(String::new, |known| {
            format!(" (did you mean `{}`?)", known.as_str())
        })
}

impl LimitName {
    /// Reads a name as spelled on the wire.
    ///
    /// # Errors
    ///
    /// [`LimitValueError::UnknownName`] lists the names there are.
    pub fn parse(name: &str) -> Result<Self, LimitValueError> {
        Self::ALL
            .iter()
            .copied()
            .find(|known| known.as_str() == name)
            .ok_or_else(|| LimitValueError::UnknownName {
                name: name.to_owned(),
            })
    }

    /// Reads a value of this limit: a number with the unit's suffix, or `unlimited`.
    ///
    /// # Errors
    ///
    /// [`LimitValueError::Malformed`] says what a value looks like.
    pub fn parse_value(self, text: &str) -> Result<Limit, LimitValueError> {
        if text == "unlimited" {
            return Ok(Limit::Unlimited);
        }
        let scales: &[(&str, u64)] = match self.unit() {
            Unit::Millis => &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)],
            Unit::Bytes => &[("KiB", KIB), ("MiB", MIB), ("GiB", GIB), ("B", 1), ("", 1)],
            Unit::Fuel | Unit::Count => &[("", 1)],
        };
        scales
            .iter()
            .find_map(|(suffix, scale)| {
                whole_number(text.strip_suffix(suffix)?)?.checked_mul(*scale)
            })
            .map(Limit::Finite)
            .ok_or_else(|| LimitValueError::Malformed {
                name: self,
                text: text.to_owned(),
            })
    }
}

/// Digits with optional `_` between them, or a short power of ten such as `5e9`.
fn whole_number(text: &str) -> Option<u64> {
    let digits = |part: &str| -> Option<u64> {
        let starts_well = part.starts_with(|c: char| c.is_ascii_digit());
        let made_well = part.chars().all(|c| c.is_ascii_digit() || c == '_');
        (starts_well && made_well).then(|| part.replace('_', "").parse().ok())?
    };
    match text.split_once('e') {
        Some((mantissa, power)) => {
            let power = u32::try_from(digits(power)?).ok()?;
            digits(mantissa)?.checked_mul(10u64.checked_pow(power)?)
        }
        None => digits(text),
    }
}

/// A limit that was reached: which, its value, what was used or asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("limit `{}` reached: {used} of {limit}", name.as_str())]
pub struct LimitHit {
    /// Which limit.
    pub name: LimitName,
    /// Its value.
    pub limit: Limit,
    /// What was used, or would have been.
    pub used: u64,
}

/// The limits of one call (or of a host): the defaults with what was set on top. Clones
/// share what was set until one of them sets more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    set: Arc<BTreeMap<LimitName, Limit>>,
}

impl Budget {
    /// The limit `name`: what was set, else its default.
    pub fn get(&self, name: LimitName) -> Limit {
        match (self.set.get(&name), name) {
            (Some(limit), _) => *limit,
            // What is lifted becomes the output; escapes and base64 make it longer there.
            (None, LimitName::Lift) => match self.get(LimitName::Output) {
                Limit::Finite(output) => Limit::Finite(output.saturating_mul(2).max(MIB)),
                Limit::Unlimited => Limit::Unlimited,
            },
            (None, _) => Limit::Finite(name.default_value()),
        }
    }

    /// Sets one limit.
    ///
    /// # Errors
    ///
    /// [`LimitValueError::AboveCeiling`] when the host allows less.
    pub fn set(&mut self, name: LimitName, limit: Limit) -> Result<(), LimitValueError> {
        match name.ceiling() {
            Some(ceiling) if limit.or_max() > ceiling => Err(LimitValueError::AboveCeiling {
                name,
                asked: limit,
                ceiling,
            }),
            _ => {
                Arc::make_mut(&mut self.set).insert(name, limit);
                Ok(())
            }
        }
    }

    /// The same, for building a budget in one expression.
    ///
    /// # Errors
    ///
    /// As [`Budget::set`].
    pub fn with(mut self, name: LimitName, limit: u64) -> Result<Self, LimitValueError> {
        self.set(name, Limit::Finite(limit))?;
        Ok(self)
    }

    /// The limits that were set, without those left at their defaults.
    pub fn set_values(&self) -> impl Iterator<Item = (LimitName, Limit)> + '_ {
        self.set.iter().map(|(name, limit)| (*name, *limit))
    }

    /// The limits of `scope` with their values, in the order of the table.
    pub fn values(&self, scope: LimitScope) -> impl Iterator<Item = (LimitName, Limit)> + '_ {
        LimitName::ALL
            .iter()
            .copied()
            .filter(move |name| name.scope() == scope)
            .map(|name| (name, self.get(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_a_finite_default_and_a_name_of_its_own() {
        let mut names = std::collections::BTreeSet::new();
        for name in LimitName::ALL {
            assert!(matches!(Budget::default().get(*name), Limit::Finite(value) if value > 0));
            assert!(names.insert(name.as_str()));
            assert_eq!(LimitName::parse(name.as_str()), Ok(*name));
        }
    }

    #[test]
    fn only_the_word_unlimited_lifts_a_limit_and_zero_allows_nothing() {
        assert_eq!(
            LimitName::Fuel.parse_value("unlimited"),
            Ok(Limit::Unlimited)
        );
        assert_eq!(LimitName::Fuel.parse_value("0"), Ok(Limit::Finite(0)));
        for text in [
            "",
            "-1",
            "none",
            "null",
            "max",
            "Unlimited",
            "1.5",
            "0x10",
            "+3",
            "_1",
            "99999999999999999999",
        ] {
            assert!(LimitName::Fuel.parse_value(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_carry_the_unit_of_their_limit() {
        assert_eq!(
            LimitName::Deadline.parse_value("2s"),
            Ok(Limit::Finite(2_000))
        );
        assert_eq!(
            LimitName::Deadline.parse_value("250ms"),
            Ok(Limit::Finite(250))
        );
        assert!(
            LimitName::Deadline.parse_value("2").is_err(),
            "a time without unit means nothing"
        );
        assert_eq!(
            LimitName::Memory.parse_value("64MiB"),
            Ok(Limit::Finite(64 << 20))
        );
        assert_eq!(
            LimitName::Memory.parse_value("65536"),
            Ok(Limit::Finite(65_536))
        );
        assert!(LimitName::Memory.parse_value("64MB").is_err());
        assert_eq!(
            LimitName::Fuel.parse_value("5e7"),
            Ok(Limit::Finite(50_000_000))
        );
    }

    #[test]
    fn a_value_above_the_ceiling_is_refused_with_the_ceiling() {
        let mut budget = Budget::default();
        let error = budget.set(LimitName::Memory, Limit::Unlimited).unwrap_err();
        assert_eq!(
            error.to_string(),
            "limit `memory` may be at most 1073741824 here, unlimited was asked"
        );
        assert_eq!(budget.get(LimitName::Memory), Limit::Finite(64 << 20));
    }

    #[test]
    fn a_clone_that_is_given_another_limit_leaves_the_first_as_it_was() {
        let first = Budget::default().with(LimitName::Fuel, 7).unwrap();
        let second = first.clone().with(LimitName::Fuel, 8).unwrap();
        assert_eq!(first.get(LimitName::Fuel), Limit::Finite(7));
        assert_eq!(second.get(LimitName::Fuel), Limit::Finite(8));
    }

    #[test]
    fn lift_follows_output_unless_it_is_set() {
        let budget = Budget::default().with(LimitName::Output, 8 << 20).unwrap();
        assert_eq!(budget.get(LimitName::Lift), Limit::Finite(16 << 20));
        let budget = budget.with(LimitName::Lift, 5).unwrap();
        assert_eq!(budget.get(LimitName::Lift), Limit::Finite(5));
    }

    #[test]
    fn a_misspelt_name_is_answered_with_the_nearest_and_all_names() {
        let text = LimitName::parse("host-calls").unwrap_err().to_string();
        assert!(
            text.contains("did you mean `host_calls`?") && text.contains("deadline"),
            "{text}"
        );
    }
}

//! The shape of a component: what it exports, what it wants, what it says of itself.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::refusal::ErrorType;
use crate::{Digest, FunctionName, InterfaceName, Refusal, TyId, TypeTable};

/// Everything known of a component without running it.
#[derive(Clone, Debug)]
pub struct Shape {
    /// SHA-256 of the bytes.
    pub digest: Digest,
    /// Size of the bytes.
    pub size_bytes: u64,
    /// What the component says of itself, if it has package documentation.
    pub docs: Option<String>,
    /// Tools that made it, as it claims.
    pub producers: Vec<Producer>,
    /// Exported functions, by full name.
    pub functions: Vec<Function>,
    /// Imported interfaces and functions, by name.
    pub imports: Vec<Import>,
    /// The types the functions speak of.
    pub types: Arc<TypeTable>,
}

/// One exported function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its full name.
    pub name: FunctionName,
    /// Its documentation, if any.
    pub docs: Option<String>,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Its result, if it has one.
    pub result: Option<TyId>,
    /// Why JSON cannot call it, if it cannot.
    pub uncallable: Option<Uncallable>,
}

/// One parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// WIT name, spelled exactly.
    pub name: Arc<str>,
    /// Its type.
    pub ty: TyId,
}

/// Why a function cannot be called through JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Uncallable {
    /// A parameter or the result holds a resource, named here.
    Resource(String),
    /// A parameter or the result holds a future, stream or error context.
    Async(String),
    /// The function is a method, constructor or static function of a resource.
    Method(String),
}

impl fmt::Display for Uncallable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Uncallable::Resource(name) => {
                write!(f, "it passes the resource `{name}`, which has no JSON form")
            }
            Uncallable::Async(kind) => write!(f, "it passes a {kind}, which has no JSON form"),
            Uncallable::Method(name) => {
                write!(
                    f,
                    "it belongs to the resource `{name}`, which JSON cannot hold"
                )
            }
        }
    }
}

/// One tool named in the producers section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Producer {
    /// `language`, `processed-by`, `sdk`.
    pub field: String,
    /// The tool.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// One import and what it would take to satisfy it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The interface (or the function's own name when it is imported by itself).
    pub name: InterfaceName,
    /// Functions of it that the component names, sorted.
    pub functions: Vec<String>,
    /// What satisfies it here.
    pub satisfier: Satisfier,
}

/// What satisfies an import on this host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum Satisfier {
    /// Always linked, inert until something is granted (C-46); `grant` says by what.
    Linked {
        /// The grant that makes it real, if one exists.
        grant: Option<&'static str>,
    },
    /// Refused unless granted; `grant` says by what.
    Grant {
        /// The grant that satisfies it.
        grant: &'static str,
    },
    /// The interface is known, this version of it is not.
    Version {
        /// Versions this host has.
        offered: Vec<&'static str>,
    },
    /// The interface is known in this version, some of the functions named are not.
    Functions {
        /// Functions that this host's interface does not have, sorted.
        missing: Vec<String>,
    },
    /// Nothing here has this name.
    Unknown {
        /// A known name that is spelled almost like it.
        nearest: Option<String>,
    },
}

/// A function name that does not name one function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Nothing answers to it.
    #[error("no exported function answers to `{asked}`{}", listing(" (exported: ", .exported))]
    Unknown {
        /// the name given
        asked: String,
        /// full names of all exports
        exported: Vec<String>,
    },
    /// The component exports it, in other versions.
    #[error("`{asked}` is not exported in this version; there is {}", .exported.join(" and "))]
    Version {
        /// the name given
        asked: String,
        /// full names of the same function in the versions there are
        exported: Vec<String>,
    },
    /// Several answer to it.
    #[error("`{asked}` is ambiguous: it can be {}", .candidates.join(" or "))]
    Ambiguous {
        /// the name given
        asked: String,
        /// full names of what it can be
        candidates: Vec<String>,
    },
}

fn listing(before: &str, names: &[String]) -> String {
    const SHOWN: usize = 8;
    match names.len() {
        0 => " (the component exports no function)".to_owned(),
        more if more > SHOWN => {
            let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
            format!("{before}{}, and {} more)", shown.join(", "), more - SHOWN)
        }
        _ => format!("{before}{})", names.join(", ")),
    }
}

impl From<ResolveError> for Refusal {
    fn from(error: ResolveError) -> Self {
        let message = error.to_string();
        match error {
            ResolveError::Unknown { exported, .. } | ResolveError::Version { exported, .. } => {
                Refusal::new(ErrorType::ArgumentsInvalid, message).with("exported", exported)
            }
            ResolveError::Ambiguous { candidates, .. } => {
                Refusal::new(ErrorType::ArgumentsInvalid, message).with("candidates", candidates)
            }
        }
    }
}

impl Shape {
    /// Case D3: a version that is named is meant; what there is instead is said.
    fn no_such(&self, asked: &str) -> ResolveError {
        let asked = asked.to_owned();
        let full = |functions: &mut dyn Iterator<Item = &Function>| -> Vec<String> {
            functions.map(|f| f.name.to_string()).collect()
        };
        let other_versions = full(&mut self.functions.iter().filter(|f| {
            let name = &f.name;
            name.interface().is_some_and(|interface| {
                let place = asked.strip_suffix(name.function());
                let place = place.and_then(|place| place.strip_suffix('#'));
                let path = place.and_then(|place| place.split_once('@'));
                path.is_some_and(|(path, _)| path == interface.path())
            })
        }));
        match other_versions.is_empty() {
            true => ResolveError::Unknown {
                exported: full(&mut self.functions.iter()),
                asked,
            },
            false => ResolveError::Version {
                exported: other_versions,
                asked,
            },
        }
    }

    /// The function that `asked` names: its full name, or a short one that only it
    /// answers to.
    ///
    /// # Errors
    ///
    /// [`ResolveError`] lists the full names.
    pub fn resolve(&self, asked: &str) -> Result<&Function, ResolveError> {
        if let Some(exact) = self.functions.iter().find(|f| f.name.is(asked)) {
            return Ok(exact);
        }
        let mut fitting = self.functions.iter().filter(|f| f.name.answers_to(asked));
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(self.no_such(asked)),
            (Some(_), Some(_)) => Err(ResolveError::Ambiguous {
                asked: asked.to_owned(),
                candidates: self
                    .functions
                    .iter()
                    .filter(|f| f.name.answers_to(asked))
                    .map(|f| f.name.to_string())
                    .collect(),
            }),
        }
    }
}

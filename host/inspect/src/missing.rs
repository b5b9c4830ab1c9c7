//! The imports of a component that a call cannot satisfy, all of them in one refusal.
//!
//! Rule (U3, architecture § 10): grouped by cause, each with what was wanted, what there
//! is, and who can change it; given before any of the component's code runs.

use bindery_types::{ErrorType, Import, Refusal, Satisfier, Shape};
use serde_json::{Value, json};

/// The refusal of a call whose grants leave imports of `shape` unsatisfied; `covers`
/// answers for the imports that need a grant. None when everything is satisfied.
pub fn missing_imports(shape: &Shape, covers: impl Fn(&Import) -> bool) -> Option<Refusal> {
    let mut groups = Groups::default();
    for import in &shape.imports {
        groups.add(import, &covers);
    }
    groups.refusal(shape)
}

/// The option of the command line that gives `grant`; none when nothing gives it yet.
pub(super) fn flag(grant: &str) -> Option<&'static str> {
    match grant {
        "directory" => Some("--dir"),
        "endpoint" => Some("--endpoint"),
        "config" => Some("--config"),
        "clock" => Some("--clock"),
        "random" => Some("--random"),
        _ => None,
    }
}

/// One group a cause.
#[derive(Default)]
struct Groups {
    not_granted: Vec<Value>,
    version: Vec<Value>,
    functions: Vec<Value>,
    unknown: Vec<Value>,
    /// One clause an import, for the sentence.
    clauses: Vec<String>,
}

impl Groups {
    fn add(&mut self, import: &Import, covers: impl Fn(&Import) -> bool) {
        let name = import.name.as_str();
        match &import.satisfier {
            Satisfier::Linked { .. } => {}
            Satisfier::Grant { .. } | Satisfier::Unknown { .. } if covers(import) => {}
            Satisfier::Grant { grant } => {
                self.clauses.push(format!(
                    "`{name}` is not granted (the operator can, by `{grant}`)"
                ));
                self.not_granted.push(json!({
                    "name": name,
                    "functions": import.functions,
                    "grant": grant,
                    "who": "operator",
                }));
            }
            Satisfier::Version { offered } => {
                let path = import.name.path();
                let wanted = import.name.version();
                let there_is = offered.join(", ");
                // D3: a release has neighbours that fit, a draft has none.
                let draft = match offered.iter().any(|text| text.contains('-')) {
                    true => ", and a draft fits only itself",
                    false => "",
                };
                self.clauses.push(format!(
                    "`{name}` has a version this host lacks (it has {path}@{there_is}{draft}; the component was built with other tools)"
                ));
                self.version.push(json!({
                    "name": name,
                    "functions": import.functions,
                    "wanted": wanted,
                    "offered": offered,
                    "who": "author",
                }));
            }
            Satisfier::Functions { missing } => {
                let named = missing.iter().map(|name| format!("`{name}`"));
                let named: Vec<String> = named.collect();
                self.clauses.push(format!(
                    "`{name}` is known to this host without {}",
                    named.join(", ")
                ));
                self.functions.push(json!({
                    "name": name,
                    "functions": import.functions,
                    "missing": missing,
                    "who": "author",
                }));
            }
            Satisfier::Unknown { nearest } => {
                let hint = nearest
                    .as_ref()
                    .map(|nearest| format!(" (did its author mean `{nearest}`?)"))
                    .unwrap_or_default();
                self.clauses
                    .push(format!("`{name}` is unknown to this host{hint}"));
                self.unknown.push(json!({
                    "name": name,
                    "functions": import.functions,
                    "nearest": nearest,
                    "who": "author",
                }));
            }
        }
    }

    fn refusal(self, shape: &Shape) -> Option<Refusal> {
        let count = self.clauses.len();
        if count == 0 {
            return None;
        }
        let lacking = [&self.version, &self.functions, &self.unknown];
        let kind = match lacking.iter().all(|group| group.is_empty()) {
            true => ErrorType::PermissionDenied,
            false => ErrorType::DependencyMissing,
        };
        let things = if count == 1 { "import" } else { "imports" };
        let message = format!(
            "{count} {things} of this component cannot be satisfied: {}",
            self.clauses.join("; ")
        );
        let refusal = Refusal::new(kind, message)
            .with("component", shape.digest.to_string())
            .with(
                "imports",
                json!({
                    "not_granted": self.not_granted,
                    "version": self.version,
                    "functions": self.functions,
                    "unknown": self.unknown,
                }),
            );
        Some(refusal)
    }
}

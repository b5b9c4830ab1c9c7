//! Names of interfaces and functions as WIT spells them, parsed once.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// `ns:package/interface@version` (or a plain name) of an imported or exported interface.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceName {
    text: Arc<str>,
    path_bytes: usize,
}

/// A text that is not the name it was taken for.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NameError {
    /// Longer than any name may be.
    #[error("a name has at most {max} characters, this one has {got}")]
    TooLong {
        /// characters given
        got: usize,
        /// characters allowed
        max: usize,
    },
    /// A character outside the names of WIT.
    #[error(
        "a name is made of letters, digits and `-_:/@.#[]+`; character {position} is {found:?}"
    )]
    Character {
        /// position in characters, from 1
        position: usize,
        /// what stands there
        found: char,
    },
    /// Nothing where a name is needed.
    #[error("the name is empty")]
    Empty,
}

const CHARS_MAX: usize = 512;

fn check(text: &str) -> Result<(), NameError> {
    let got = text.chars().count();
    if got > CHARS_MAX {
        return Err(NameError::TooLong {
            got,
            max: CHARS_MAX,
        });
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_:/@.#[]+".contains(c);
    match text.chars().enumerate().find(|(_, c)| !allowed(*c)) {
        Some((index, found)) => Err(NameError::Character {
            position: index + 1,
            found,
        }),
        None => Ok(()),
    }
}

impl InterfaceName {
    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The name without its version: `wasi:http/types`.
    pub fn path(&self) -> &str {
        self.text.get(..self.path_bytes).unwrap_or(&self.text)
    }

    /// The version after `@`, if there is one.
    pub fn version(&self) -> Option<&str> {
        self.text.get(self.path_bytes + 1..)
    }

    /// The interface's own name: `types` of `wasi:http/types@0.2.6`.
    pub fn short(&self) -> &str {
        self.path().rsplit('/').next().unwrap_or(self.path())
    }

    /// The package: `wasi:http` of `wasi:http/types@0.2.6`, empty for a plain name.
    pub fn package(&self) -> &str {
        self.path()
            .rsplit_once('/')
            .map_or("", |(package, _)| package)
    }
}

impl FromStr for InterfaceName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        check(text)?;
        Ok(Self {
            text: text.into(),
            path_bytes: text.find('@').unwrap_or(text.len()),
        })
    }
}

impl fmt::Display for InterfaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for InterfaceName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// Full name of an exported function: `ns:pkg/iface@1.0.0#go`, or `#go` for a function
/// that the component exports by itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionName {
    interface: Option<InterfaceName>,
    /// Counted: every receipt has the name.
    function: Arc<str>,
}

impl FunctionName {
    /// The function `function` of `interface`, or of the component itself.
    ///
    /// # Errors
    ///
    /// [`NameError`] when `function` is empty, too long or has a character no name has.
    pub fn new(interface: Option<InterfaceName>, function: &str) -> Result<Self, NameError> {
        if function.is_empty() {
            return Err(NameError::Empty);
        }
        check(function)?;
        Ok(Self {
            interface,
            function: function.into(),
        })
    }

    /// The interface that exports it, if any.
    pub fn interface(&self) -> Option<&InterfaceName> {
        self.interface.as_ref()
    }

    /// The function's own name.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// Whether `text` is the full name; written out nowhere, since every call asks this.
    pub fn is(&self, text: &str) -> bool {
        let interface = self.interface.as_ref().map_or("", InterfaceName::as_str);
        let place = text
            .strip_suffix(&*self.function)
            .and_then(|rest| rest.strip_suffix('#'));
        place == Some(interface)
    }

    /// Whether `asked` (`go`, `#go`, `api#go`, `ns:pkg/api#go`, `ns:pkg/api@1.0.0#go`)
    /// can mean this function.
    pub fn answers_to(&self, asked: &str) -> bool {
        let Some((place, function)) = asked.rsplit_once('#') else {
            return asked == &*self.function;
        };
        let place_fits = match &self.interface {
            _ if place.is_empty() => true,
            Some(name) => [name.as_str(), name.path(), name.short()].contains(&place),
            None => false,
        };
        place_fits && function == &*self.function
    }
}

impl fmt::Display for FunctionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.interface {
            Some(interface) => write!(f, "{interface}#{}", self.function),
            None => write!(f, "#{}", self.function),
        }
    }
}

impl Serialize for FunctionName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_name_has_package_short_name_and_version() {
        let name: InterfaceName = "wasi:http/types@0.2.6".parse().unwrap();
        assert_eq!(name.path(), "wasi:http/types");
        assert_eq!(name.package(), "wasi:http");
        assert_eq!(name.short(), "types");
        assert_eq!(name.version(), Some("0.2.6"));
        let plain: InterfaceName = "api".parse().unwrap();
        assert_eq!(
            (plain.path(), plain.package(), plain.version()),
            ("api", "", None)
        );
    }

    #[test]
    fn a_function_answers_to_its_short_and_full_names_and_to_nothing_else() {
        let go = FunctionName::new(Some("ex:thing/api@1.0.0".parse().unwrap()), "go").unwrap();
        assert_eq!(go.to_string(), "ex:thing/api@1.0.0#go");
        for asked in [
            "go",
            "#go",
            "api#go",
            "ex:thing/api#go",
            "ex:thing/api@1.0.0#go",
        ] {
            assert!(go.answers_to(asked), "{asked}");
        }
        for asked in [
            "",
            "#",
            "Go",
            "api",
            "ap#go",
            "ex:thing/api@1.0.1#go",
            "x/api#go",
        ] {
            assert!(!go.answers_to(asked), "{asked}");
        }
    }

    #[test]
    fn the_full_name_is_what_is_displayed_and_nothing_else_is() {
        let names = [
            (Some("ex:thing/api@1.0.0"), "go"),
            (Some("api"), "go"),
            (None, "go"),
            (None, "a#go"),
        ];
        let names = names.map(|(interface, function)| {
            let interface = interface.map(|name| name.parse().unwrap());
            FunctionName::new(interface, function).unwrap()
        });
        let short = [
            "go",
            "",
            "#",
            "api",
            "ex:thing/api#go",
            "thing/api@1.0.0#go",
        ];
        let full = names.each_ref().map(ToString::to_string);
        for name in &names {
            for text in short.into_iter().chain(full.iter().map(String::as_str)) {
                assert_eq!(name.is(text), name.to_string() == text, "{name} {text}");
            }
        }
    }

    #[test]
    fn a_name_with_a_newline_or_an_escape_is_refused_with_its_place() {
        let error = "a\u{1b}b".parse::<InterfaceName>().unwrap_err();
        assert_eq!(
            error,
            NameError::Character {
                position: 2,
                found: '\u{1b}'
            }
        );
    }
}

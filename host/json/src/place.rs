//! Where in the arguments the reader stands: a list on the call stack, spelled out only
//! when something is wrong there.

/// One step down.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'p> {
    /// Into the member of this name.
    Key(&'p str),
    /// Into the item of this number, from 0.
    Index(usize),
}

/// A place, by its last step and the place above it; the root has neither.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'p> {
    above: Option<(&'p Place<'p>, Step<'p>)>,
}

/// Characters of a name from the text that a pointer shows: enough to find it, too few to
/// fill a log with it. What could steer a terminal is made visible.
const SHOWN_MAX: usize = 64;

impl<'p> Place<'p> {
    /// The arguments as a whole.
    pub(crate) const ROOT: Place<'static> = Place { above: None };

    /// The member `name` of what stands here.
    pub(crate) fn key(&'p self, name: &'p str) -> Place<'p> {
        Place {
            above: Some((self, Step::Key(name))),
        }
    }

    /// Item number `index` of what stands here.
    pub(crate) fn index(&'p self, index: usize) -> Place<'p> {
        Place {
            above: Some((self, Step::Index(index))),
        }
    }

    /// The JSON Pointer of this place (RFC 6901): empty for the root.
    pub(crate) fn pointer(&self) -> String {
        let mut steps = Vec::new();
        let mut place = self;
        while let Some((above, step)) = &place.above {
            steps.push(*step);
            place = above;
        }
        let mut pointer = String::new();
        for step in steps.iter().rev() {
            pointer.push('/');
            match step {
                Step::Key(name) => push_name(&mut pointer, name),
                Step::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }
}

fn push_name(pointer: &mut String, name: &str) {
    for (count, c) in name.chars().enumerate() {
        match c {
            _ if count == SHOWN_MAX => return pointer.push('…'),
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            ' '..='~' => pointer.push(c),
            other => pointer.extend(other.escape_debug()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_names_every_step_and_escapes_its_own_signs() {
        let o = Place::ROOT.key("a/b~c");
        let item = o.index(3);
        assert_eq!(item.key("x").pointer(), "/a~1b~0c/3/x");
        assert_eq!(Place::ROOT.pointer(), "");
    }

    #[test]
    fn b4_a_long_name_is_cut_between_characters() {
        let name = "é".repeat(1000);
        assert_eq!(
            Place::ROOT.key(&name).pointer(),
            format!("/{}…", "é".repeat(64))
        );
    }
}

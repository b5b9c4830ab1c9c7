//! The rules that speak of a question, picked once, without allocating for a usual number.

const FEW: usize = 16;

/// Numbers of rules.
#[derive(Debug, Default)]
pub(super) struct Matched {
    few: [u32; FEW],
    count: usize,
    more: Vec<u32>,
}

impl Matched {
    pub(super) fn push(&mut self, number: u32) {
        match self.few.get_mut(self.count) {
            Some(cell) => *cell = number,
            None => self.more.push(number),
        }
        self.count += 1;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.few.iter().take(self.count).chain(&self.more).copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rules_are_kept_as_few_are() {
        let mut matched = Matched::default();
        assert!(matched.is_empty());
        (0..100).for_each(|number| matched.push(number));
        assert!(matched.iter().eq(0..100));
    }
}

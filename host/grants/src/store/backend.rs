//! What keeps the keys and values of a store grant.
//!
//! Rule (case G5): each operation is one step that happens whole or not at all, seen from
//! every other call and, where the backend is durable, after a crash. The bounds of the
//! call are part of the step, so that parallel calls cannot pass them together.

/// A store of keys and values. Every operation may block: it is called on a thread that
/// may, within the deadline of its call.
///
/// A durable backend has written what it acknowledges. An operation whose call is gone
/// runs to its end unobserved.
pub trait KeyValueStore: Send + Sync + 'static {
    /// The values of `keys`, in their order, as they are at one moment; together at most
    /// `bytes_max` bytes.
    ///
    /// # Errors
    ///
    /// [`StoreFault::Long`] when they are more; [`StoreFault::Unavailable`].
    fn get(&self, keys: &[String], bytes_max: u64) -> Result<Vec<Option<Vec<u8>>>, StoreFault>;

    /// Whether there is a value for `key`.
    ///
    /// # Errors
    ///
    /// [`StoreFault::Unavailable`].
    fn exists(&self, key: &str) -> Result<bool, StoreFault>;

    /// At most `max` keys in ascending order of their bytes, without the first `skip`.
    ///
    /// # Errors
    ///
    /// [`StoreFault::Unavailable`].
    fn keys(&self, skip: u64, max: usize) -> Result<Keys, StoreFault>;

    /// Makes all `changes`, in their order, or none.
    ///
    /// # Errors
    ///
    /// [`StoreFault::Full`] when the store would grow beyond `room`;
    /// [`StoreFault::Unavailable`].
    fn apply(&self, changes: &[Change], room: Room) -> Result<(), StoreFault>;

    /// Adds `by` to the decimal number that is the value of `key` (none is 0) and gives
    /// the sum, in one step.
    ///
    /// # Errors
    ///
    /// [`StoreFault::NotANumber`], [`StoreFault::Overflow`], and as [`Self::apply`].
    fn increment(&self, key: &str, by: u64, room: Room) -> Result<u64, StoreFault>;

    /// Sets `key` to `value` if its value is `expected` (none: if there is none), in one
    /// step.
    ///
    /// # Errors
    ///
    /// As [`Self::apply`].
    fn swap(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        value: &[u8],
        room: Room,
    ) -> Result<Swap, StoreFault>;
}

/// A page of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// The keys.
    pub keys: Vec<String>,
    /// Whether there are more after them.
    pub more: bool,
}

/// One change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The key has this value from now on.
    Set(String, Vec<u8>),
    /// The key has no value from now on.
    Delete(String),
}

/// How large a store may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Most keys.
    pub entries_max: u64,
    /// Most bytes of keys and values together.
    pub bytes_max: u64,
}

/// What a swap came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swap {
    /// The value was the expected one and is replaced.
    Done,
    /// The value was this one and still is.
    Differs(Option<Vec<u8>>),
}

/// Why an operation did nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreFault {
    /// More keys than there is room for.
    #[error("the store would have {entries} keys")]
    Entries {
        /// how many there would be
        entries: u64,
    },
    /// More bytes than there is room for.
    #[error("the store would have {bytes} bytes")]
    Full {
        /// how many there would be
        bytes: u64,
    },
    /// More bytes than one reading may give.
    #[error("the values have {bytes} bytes or more")]
    Long {
        /// how many had been counted
        bytes: u64,
    },
    /// A value that is no decimal number cannot be incremented.
    #[error("the value is no decimal number of 64 bits")]
    NotANumber,
    /// The sum has no room in 64 bits.
    #[error("the sum is more than 64 bits hold")]
    Overflow,
    /// The backend failed; the text is for the operator.
    #[error("the backend failed: {0}")]
    Unavailable(String),
}

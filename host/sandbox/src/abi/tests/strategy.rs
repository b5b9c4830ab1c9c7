//! Random types and random values of them.

use proptest::prelude::*;
use wasmtime::component::Val;

use super::kind::{Kind, name};

/// Any type, a few levels deep.
pub(super) fn kind() -> impl Strategy<Value = Kind> {
    let leaf = prop_oneof![
        Just(Kind::Bool),
        Just(Kind::U8),
        Just(Kind::U16),
        Just(Kind::U32),
        Just(Kind::U64),
        Just(Kind::S8),
        Just(Kind::S16),
        Just(Kind::S32),
        Just(Kind::S64),
        Just(Kind::F32),
        Just(Kind::F64),
        Just(Kind::Char),
        Just(Kind::Text),
        Just(Kind::Bytes),
        prop_oneof![1..6usize, Just(256), Just(257)].prop_map(Kind::Enum),
        (1..=32usize).prop_map(Kind::Flags),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let many = prop::collection::vec(inner.clone(), 1..5);
        let cases = prop::collection::vec(prop::option::weighted(0.7, inner.clone()), 1..5);
        let side = prop::option::weighted(0.8, inner.clone().prop_map(Box::new));
        prop_oneof![
            inner.clone().prop_map(|item| match item {
                Kind::U8 => Kind::Bytes,
                item => Kind::List(Box::new(item)),
            }),
            many.clone().prop_map(Kind::Tuple),
            many.prop_map(Kind::Record),
            cases.prop_map(Kind::Variant),
            inner.prop_map(|some| Kind::Option(Box::new(some))),
            (side.clone(), side).prop_map(|(ok, err)| Kind::Result(ok, err)),
        ]
    })
}

/// Reproducible randomness for values of a type known only at run time.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.roll() % u64::try_from(bound).unwrap()).unwrap()
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    pub(super) fn chance(&mut self) -> bool {
        self.roll() & 1 == 0
    }

    /// A whole number of `bits` bits, often an extreme one; the sign bit counts.
    fn whole(&mut self, bits: u32) -> u64 {
        let word = self.roll();
        let word = self.pick(&[
            word,
            0,
            u64::MAX,
            1 << (bits - 1),
            (1 << (bits - 1)) - 1,
            200,
        ]);
        let safe = (1u64 << 53).wrapping_add(self.roll() % 3).wrapping_sub(1);
        let word = if self.below(8) == 0 { safe } else { word };
        word & (u64::MAX >> (64 - bits))
    }
}

fn narrow<T: TryFrom<u64>>(word: u64) -> T {
    T::try_from(word).ok().unwrap()
}

/// A value of the type.
pub(super) fn value(kind: &Kind, dice: &mut Dice) -> Val {
    match kind {
        Kind::Bool => Val::Bool(dice.chance()),
        Kind::U8 => Val::U8(narrow(dice.whole(8))),
        Kind::U16 => Val::U16(narrow(dice.whole(16))),
        Kind::U32 => Val::U32(narrow(dice.whole(32))),
        Kind::U64 => Val::U64(dice.whole(64)),
        Kind::S8 => Val::S8(narrow::<u8>(dice.whole(8)).cast_signed()),
        Kind::S16 => Val::S16(narrow::<u16>(dice.whole(16)).cast_signed()),
        Kind::S32 => Val::S32(narrow::<u32>(dice.whole(32)).cast_signed()),
        Kind::S64 => Val::S64(dice.whole(64).cast_signed()),
        Kind::F32 => Val::Float32(one_nan32(f32::from_bits(narrow(dice.whole(32))))),
        Kind::F64 => {
            let word = dice.whole(64);
            let value = [
                f64::from_bits(word),
                -0.0,
                0.1,
                f64::INFINITY,
                f64::NAN,
                1e300,
            ];
            let value = dice.pick(&value);
            // One NaN: JSON has one, and its bits are the host's.
            Val::Float64(if value.is_nan() { f64::NAN } else { value })
        }
        Kind::Char => Val::Char(character(dice)),
        Kind::Text => Val::String((0..dice.below(12)).map(|_| character(dice)).collect()),
        Kind::Bytes => {
            let len = dice.pick(&[0, 1, 2, 3, 40]);
            Val::List((0..len).map(|_| Val::U8(narrow(dice.whole(8)))).collect())
        }
        Kind::List(item) => {
            let len = dice.pick(&[0, 1, 2, 3]);
            Val::List((0..len).map(|_| value(item, dice)).collect())
        }
        Kind::Tuple(kinds) => Val::Tuple(kinds.iter().map(|kind| value(kind, dice)).collect()),
        Kind::Record(kinds) => {
            let field = |(n, kind)| (name("f", n), value(kind, dice));
            Val::Record(kinds.iter().enumerate().map(field).collect())
        }
        Kind::Variant(kinds) => {
            let case = dice.below(kinds.len());
            let payload = kinds[case].as_ref();
            let payload = payload.map(|kind| Box::new(value(kind, dice)));
            Val::Variant(name("c", case), payload)
        }
        Kind::Enum(count) => Val::Enum(name("e", dice.below(*count))),
        Kind::Flags(count) => {
            let labels = (0..*count).filter(|_| dice.chance());
            Val::Flags(labels.map(|n| name("l", n)).collect())
        }
        Kind::Option(some) => Val::Option(dice.chance().then(|| Box::new(value(some, dice)))),
        Kind::Result(ok, err) => {
            let mut payload =
                |kind: &Option<Box<Kind>>| kind.as_ref().map(|kind| Box::new(value(kind, dice)));
            let (ok, err) = (payload(ok), payload(err));
            Val::Result(if dice.chance() { Ok(ok) } else { Err(err) })
        }
    }
}

fn one_nan32(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { value }
}

fn character(dice: &mut Dice) -> char {
    let any = narrow(dice.roll() % 0x11_0000);
    let any = char::from_u32(any).unwrap_or('\u{ffff}');
    dice.pick(&[
        'a', '"', '\\', '\n', '\0', '\u{1f}', '/', 'é', '\u{ff}', '€', '𝄞', any,
    ])
}

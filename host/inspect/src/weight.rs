//! How much text the types of the exported functions make, counted for each function.
//!
//! Rule (X17, B8): a schema is written out for every function, so ten thousand functions
//! that share one enormous type would make gigabytes of a small file.

use bindery_types::{Function, Refusal, Ty, TyId, TypeTable};

use super::bounds::{self, Count};

/// Passes functions whose types stay within [`bounds::SIGNATURE_BYTES`] together.
pub(super) fn check(functions: &[Function], types: &TypeTable) -> Result<(), Refusal> {
    let weights: Vec<u64> = types.iter().map(|(_, ty)| weight(ty)).collect();
    let mut total = Count::of(bounds::SIGNATURE_BYTES);
    // Which function a type was last seen in: one pass a function, nothing to clear.
    let mut seen = vec![0_usize; types.len()];
    for (number, function) in (1..).zip(functions) {
        let mut open: Vec<TyId> = function.params.iter().map(|param| param.ty).collect();
        open.extend(function.result);
        while let Some(id) = open.pop() {
            let index = id.index();
            match seen.get_mut(index) {
                Some(last) if *last != number => *last = number,
                _ => continue,
            }
            total.add(weights.get(index).copied().unwrap_or(0))?;
            open.extend(types.get(id).parts());
        }
    }
    Ok(())
}

/// Bytes of names and documentation of one type, and something for its frame.
fn weight(ty: &Ty) -> u64 {
    const FRAME: usize = 32;
    let label = |name: &str, docs: Option<&str>| FRAME + name.len() + docs.map_or(0, str::len);
    let parts = FRAME * ty.parts().count();
    let labels: usize = match ty {
        Ty::Record(of) => of
            .fields
            .iter()
            .map(|f| label(&f.name, f.docs.as_deref()))
            .sum(),
        Ty::Variant(of) => of
            .cases
            .iter()
            .map(|c| label(&c.name, c.docs.as_deref()))
            .sum(),
        Ty::Enum(of) => of.cases.iter().map(|case| label(case, None)).sum(),
        Ty::Flags(of) => of.labels.iter().map(|l| label(l, None)).sum(),
        _ => 0,
    };
    u64::try_from(FRAME + parts + labels).unwrap_or(u64::MAX)
}

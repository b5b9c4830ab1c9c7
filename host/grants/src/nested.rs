//! What answers an import that is another component's interface: whoever governs calls.
//!
//! Rule: a component that calls another asks the host, like anybody.
//! Nothing of the callee is in this store; what crosses is JSON text of checked types, and
//! everything that the callee used is charged to the caller.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bindery_types::{
    Budget, EffectKind, Function, InterfaceName, LimitHit, NestedUse, Receipt, Run, TypeTable,
};

use crate::call::CallGrants;

/// A function of another component, as its own types have it.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The function.
    pub function: Function,
    /// The table that its types are of.
    pub types: Arc<TypeTable>,
}

/// One call that a component makes of another.
#[derive(Clone, Debug)]
pub struct NestedCall {
    /// The interface that it imports, with its version.
    pub interface: String,
    /// The function of it.
    pub function: String,
    /// JSON text of the arguments.
    pub arguments: String,
    /// What is left of the caller's budget.
    pub left: Budget,
}

/// What a nested call comes to.
pub type NestedAnswer = Pin<Box<dyn Future<Output = Run> + Send>>;

/// Answers the imports that are interfaces of other components.
pub trait Nested: fmt::Debug + Send + Sync + 'static {
    /// The function that answers `function` of `interface`; none where nothing does.
    fn signature(&self, interface: &str, function: &str) -> Option<Arc<Signature>>;

    /// Calls it. A future that is dropped ends the call.
    fn call(&self, call: NestedCall) -> NestedAnswer;
}

/// Whether all `functions` of `interface` are answered.
pub(crate) fn answers(
    nested: Option<&Arc<dyn Nested>>,
    interface: &InterfaceName,
    functions: &[String],
) -> bool {
    nested.is_some_and(|nested| {
        let answered = |name: &String| nested.signature(interface.as_str(), name).is_some();
        !functions.is_empty() && functions.iter().all(answered)
    })
}

/// A nested call that was noted and has not ended.
#[derive(Clone, Copy, Debug)]
pub struct NestedPlace(Option<usize>);

impl CallGrants {
    /// What answers imports of other components.
    pub fn nested(&self) -> Option<Arc<dyn Nested>> {
        self.nested.clone()
    }

    /// What nested calls used so far.
    pub fn nested_use(&self) -> NestedUse {
        self.nested_use
    }

    /// A nested call with `bytes` of arguments begins: one host call, one effect.
    ///
    /// # Errors
    ///
    /// [`LimitHit`] when the caller may not make it.
    pub fn begin_nested(&mut self, target: &str, bytes: usize) -> Result<NestedPlace, LimitHit> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.meter.enter()?;
        self.meter.work(bytes)?;
        let place = self.meter.note(EffectKind::Nested, target, bytes);
        Ok(NestedPlace(place))
    }

    /// It ended: what it used is the caller's use, too.
    ///
    /// # Errors
    ///
    /// [`LimitHit`] when that is more than the caller has.
    pub fn end_nested(&mut self, at: NestedPlace, receipt: &Receipt) -> Result<(), LimitHit> {
        self.meter.moved(at.0, receipt.bytes_out);
        self.nested_use.add(receipt);
        self.meter.nested(receipt.fuel_used, receipt.host_calls)
    }
}

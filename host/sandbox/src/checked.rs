//! A call whose arguments fit: made without an instance, run at most once.
//!
//! Rule: between the check and the run stands whoever decides (the host's policy). What was
//! decided about is what runs: the arguments are kept as checked, and the value is consumed.

use bindery_json::tape::Tape;
use bindery_types::{Budget, ErrorType, Function, Refusal};

use crate::loaded::LoadedComponent;

/// A function of a component with arguments that fit it.
pub struct Checked {
    component: LoadedComponent,
    /// Place of the function among those of the shape.
    place: usize,
    tape: Tape,
    arguments_bytes: u64,
}

impl std::fmt::Debug for Checked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checked")
            .field("component", &self.component)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl Checked {
    /// Finds `function` and reads `arguments` against its types, within `budget`.
    ///
    /// # Errors
    ///
    /// `arguments_invalid` with every fault found, or with the functions there are.
    pub(crate) fn new(
        component: &LoadedComponent,
        function: &str,
        arguments: &str,
        budget: &Budget,
    ) -> Result<Self, Refusal> {
        let shape = component.shape();
        let function = shape.resolve(function)?;
        if let Some(reason) = &function.uncallable {
            let name = &function.name;
            let message = format!("`{name}` cannot be called through JSON: {reason}");
            return Err(Refusal::new(ErrorType::ArgumentsInvalid, message));
        }
        let tape = bindery_json::read_arguments(arguments, function, &shape.types, budget)?;
        let mut functions = shape.functions.iter();
        let place = functions
            .position(|known| std::ptr::eq(known, function))
            .ok_or_else(|| Refusal::new(ErrorType::Internal, "the function is not its shape's"))?;
        Ok(Self {
            component: component.clone(),
            place,
            tape,
            arguments_bytes: u64::try_from(arguments.len()).unwrap_or(u64::MAX),
        })
    }

    /// The component.
    pub fn component(&self) -> &LoadedComponent {
        &self.component
    }

    /// The function.
    ///
    /// # Errors
    ///
    /// `internal` when the shape does not have it, which the constructor rules out.
    pub fn function(&self) -> Result<&Function, Refusal> {
        let function = self.component.shape().functions.get(self.place);
        function.ok_or_else(|| Refusal::new(ErrorType::Internal, "the function is gone"))
    }

    /// The arguments as the types have them, written out again: member order and spelling
    /// of numbers are one, whatever they were (C-56). `None` when the host broke a promise
    /// about what it read.
    pub fn arguments(&self) -> Option<String> {
        let function = self.function().ok()?;
        bindery_json::render(&self.tape, function, &self.component.shape().types)
    }

    pub(crate) fn place(&self) -> usize {
        self.place
    }

    pub(crate) fn tape(&self) -> &Tape {
        &self.tape
    }

    pub(crate) fn arguments_bytes(&self) -> u64 {
        self.arguments_bytes
    }
}

//! Runs any component's function from JSON under real limits: inspect, compile, call.
//!
//! Rule: a fresh store for every call, dropped after it, whatever happened; nothing is
//! linked that the closed table of imports does not name; every budget is enforced here
//! or in the grants; nothing a component, an argument or a file does ends the process.

mod engine;

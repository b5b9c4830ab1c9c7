//! Builds and finds the components that tests, the demo and the bench run.

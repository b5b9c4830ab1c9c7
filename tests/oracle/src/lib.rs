//! The home of the JSON oracle: an independent validator against our checker.

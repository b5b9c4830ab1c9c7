//! Every integration test of the product, one module a theme.

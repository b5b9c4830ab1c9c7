//! The home of `tests/all`: one integration binary for the whole product.

//! The home of the policy oracle: a slow, obvious second implementation of the decision,
//! written from the requirement rows, against the one that decides in the product.

//! Key expressions: canonical form, relations, trees, selectors and parameters.

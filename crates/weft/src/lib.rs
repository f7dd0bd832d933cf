//! The Rust API of Weft: sessions, publishers, subscribers, queryables, queriers and liveliness.

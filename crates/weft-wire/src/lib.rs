//! Zenoh messages to bytes and back, without copies.

//! One Zenoh transport without I/O: handshake, channels, batches, fragments, lease.

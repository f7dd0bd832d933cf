//! What a program must be able to do to be measured.

use crate::{Failure, How, Place};

/// One session with a network of its kind.
///
/// What a program cannot do at all it refuses with [`Failure::Usage`]; nobody asks it then.
pub trait Network: Sized + Send + Sync + 'static {
    /// What it publishes. Made once, published many times.
    type Payload: Send + Sync + 'static;
    /// What publishes on one key.
    type Publisher: Publish<Payload = Self::Payload>;
    /// What is declared for as long as it lives.
    type Held: Send;

    /// Opens a session at the named place, which finds nothing by itself.
    fn open(place: &Place) -> Result<Self, Failure>;

    /// Prepares bytes for publication.
    fn payload(bytes: Vec<u8>) -> Self::Payload;

    /// Declares a publisher that waits when the link is full.
    fn publisher(&self, key: &str, how: How) -> Result<Self::Publisher, Failure>;

    /// Calls back with every message on `key`, which may end with `/**`.
    fn subscribe<F>(&self, key: &str, callback: F) -> Result<Self::Held, Failure>
    where
        F: Fn(&dyn Message) + Send + Sync + 'static;

    /// Publishes the payload of every message on `from` to `to`, in the callback that received it.
    fn echo(&self, from: &str, to: &str, how: How) -> Result<Self::Held, Failure>;

    /// Answers every question on `key` with `size` bytes.
    fn answer(&self, key: &str, size: usize) -> Result<Self::Held, Failure>;

    /// Asks and waits for the answer as an application does that has nothing else to do. Whether one came.
    fn ask(&self, key: &str) -> Result<bool, Failure>;

    /// Asks, and calls back once the question is closed.
    fn ask_then<F>(&self, key: &str, closed: F) -> Result<(), Failure>
    where
        F: FnOnce() + Send + 'static;
}

/// Publishes on the key that it was declared for.
pub trait Publish: Send + Sync + 'static {
    /// What it publishes.
    type Payload;

    /// Publishes; waits while there is no room.
    fn put(&self, payload: &Self::Payload) -> Result<(), Failure>;
}

/// What was received.
pub trait Message {
    /// Its first eight bytes as a number, little-endian; missing bytes are zero.
    fn stamp(&self) -> u64;
}

impl Message for &[u8] {
    fn stamp(&self) -> u64 {
        let mut bytes = [0; 8];
        let len = self.len().min(8);
        bytes[..len].copy_from_slice(&self[..len]);
        u64::from_le_bytes(bytes)
    }
}

//! What is built on top of sessions: serialization of typed values, and publishers and subscribers
//! that make up for what was lost.
//!
//! Nothing in here needs more of the network than publications, queries and liveliness tokens.
//!
//! Spec: 02 §6, §7; 05 §A.14.

mod serialization;

pub use serialization::{
    Deserialize, DeserializeError, DeserializeFault, Deserializer, EMPTY_ITEMS_MAX, Serialize,
    Serializer, deserialize, serialize,
};

//! What is built on top of sessions: serialization of typed values, and publishers and subscribers
//! that make up for what was lost.
//!
//! Nothing in here needs more of the network than publications, queries and liveliness tokens.
//!
//! Spec: 02 §6, §7; 05 §A.14.

mod cache;
mod keys;
mod miss;
mod outbox;
mod publisher;
mod recovery;
mod serialization;
mod subscriber;

pub use cache::CacheConfig;
pub use miss::{Miss, SampleMissListener, SampleMissListenerBuilder};
pub use publisher::{
    AdvancedPublicationBuilder, AdvancedPublisher, AdvancedPublisherBuilder, MissDetectionConfig,
    declare_advanced_publisher,
};
pub use recovery::{PENDING_MAX, SOURCES_MAX};
pub use serialization::{
    Deserialize, DeserializeError, DeserializeFault, Deserializer, EMPTY_ITEMS_MAX, Serialize,
    Serializer, deserialize, serialize,
};
pub use subscriber::{
    AdvancedSubscriber, AdvancedSubscriberBuilder, DetectPublishersBuilder, HistoryConfig,
    RecoveryConfig, declare_advanced_subscriber,
};

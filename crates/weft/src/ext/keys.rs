//! Where advanced publishers and subscribers find each other.
//!
//! Spec: 02 §7.1.
//!
//! ```text
//! K/@adv/pub/ZID/EID/META    a publisher of K with sequence numbers: cache, token, heartbeat
//! K/@adv/pub/ZID/uhlc/META   a publisher without
//! K/@adv/sub/ZID/EID/META    a subscriber that wants to be detected
//! ```
//!
//! META is a key expression of the application, or `_`. `@adv` is a verbatim chunk: no wildcard of an
//! ordinary key expression reaches behind it.

use weft_keyexpr::{KeyExpr, KeyExprError};
use weft_wire::{EntityGlobalId, ZenohId};

use super::recovery::SourceId;

/// What stands for the entity id of a publisher without sequence numbers.
const STAMPED: &str = "uhlc";
const NO_METADATA: &str = "_";

/// The key of a publisher of `key`.
pub(super) fn publisher(
    key: &KeyExpr,
    source: SourceId,
    metadata: Option<&KeyExpr>,
) -> Result<KeyExpr, KeyExprError> {
    let metadata = metadata.map_or(NO_METADATA, KeyExpr::as_str);
    key.join(&match source {
        SourceId::Numbered(EntityGlobalId { zid, eid }) => {
            format!("@adv/pub/{zid}/{eid}/{metadata}")
        }
        SourceId::Stamped(zid) => format!("@adv/pub/{zid}/{STAMPED}/{metadata}"),
    })
}

/// The key of a subscriber of `key`.
pub(super) fn subscriber(
    key: &KeyExpr,
    id: EntityGlobalId,
    metadata: Option<&KeyExpr>,
) -> Result<KeyExpr, KeyExprError> {
    let metadata = metadata.map_or(NO_METADATA, KeyExpr::as_str);
    key.join(&format!("@adv/sub/{}/{}/{metadata}", id.zid, id.eid))
}

/// Everything of everybody.
pub(super) fn all(key: &KeyExpr) -> Result<KeyExpr, KeyExprError> {
    key.join("@adv/**")
}

/// All publishers.
pub(super) fn publishers(key: &KeyExpr) -> Result<KeyExpr, KeyExprError> {
    key.join("@adv/pub/**")
}

/// Whoever caches the samples of one publisher.
pub(super) fn source(key: &KeyExpr, id: EntityGlobalId) -> Result<KeyExpr, KeyExprError> {
    key.join(&format!("@adv/*/{}/{}/**", id.zid, id.eid))
}

/// Whose key [`publisher`] made; `None` for any other key.
pub(super) fn source_of(key: &KeyExpr) -> Option<SourceId> {
    let (_, rest) = key.as_str().split_once("/@adv/pub/")?;
    let mut chunks = rest.split('/');
    let zid: ZenohId = chunks.next()?.parse().ok()?;
    let eid = chunks.next()?;
    chunks.next()?;
    if eid == STAMPED {
        return Some(SourceId::Stamped(zid));
    }
    Some(SourceId::Numbered(EntityGlobalId { zid, eid: eid.parse().ok()? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of 02 §9.6.
    #[test]
    fn keys_are_those_of_the_protocol() {
        let key = KeyExpr::new("adv/k").unwrap();
        let zid: ZenohId = "aa01".parse().unwrap();
        let id = EntityGlobalId { zid, eid: 6 };
        let numbered = publisher(&key, SourceId::Numbered(id), None).unwrap();
        assert_eq!(numbered.as_str(), "adv/k/@adv/pub/aa01/6/_");
        assert_eq!(source_of(&numbered), Some(SourceId::Numbered(id)));
        let metadata = KeyExpr::new("a/b").unwrap();
        let stamped = publisher(&key, SourceId::Stamped(zid), Some(&metadata)).unwrap();
        assert_eq!(stamped.as_str(), "adv/k/@adv/pub/aa01/uhlc/a/b");
        assert_eq!(source_of(&stamped), Some(SourceId::Stamped(zid)));
        assert_eq!(subscriber(&key, id, None).unwrap().as_str(), "adv/k/@adv/sub/aa01/6/_");
        assert_eq!(source(&key, id).unwrap().as_str(), "adv/k/@adv/*/aa01/6/**");
        assert!(publishers(&key).unwrap().includes(numbered.as_ke()));
        assert!(all(&key).unwrap().includes(stamped.as_ke()));
        assert!(source(&key, id).unwrap().includes(numbered.as_ke()));
        assert!(!KeyExpr::new("**").unwrap().intersects(&numbered));
    }

    #[test]
    fn other_keys_have_no_source() {
        for key in [
            "adv/k",
            "adv/k/@adv/pub/aa01/6",
            "adv/k/@adv/pub/aa01/x/_",
            "adv/k/@adv/pub/0/6/_",
            "adv/k/@adv/sub/aa01/6/_",
        ] {
            assert_eq!(source_of(&KeyExpr::new(key).unwrap()), None, "{key}");
        }
    }
}

//! Nobody gets a sample without a subscription that matches it.

use weft_keyexpr::KeyExpr;
use weft_node::Locality;

use super::{Verdict, hold};

/// A subscriber that is about to get a sample, and the sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receipt<'a> {
    /// What it subscribed to; `None` if it does not exist (any more).
    pub(crate) subscribed: Option<&'a KeyExpr>,
    pub(crate) origin: Locality,
    pub(crate) published: &'a KeyExpr,
    /// Published by the subscriber's own session.
    pub(crate) own: bool,
}

pub(crate) fn check(receipt: Receipt<'_>) -> Verdict {
    let Receipt { subscribed, origin, published, own } = receipt;
    hold!(subscribed.is_some(), "a sample of {published} for a subscriber that is gone");
    let Some(subscribed) = subscribed else { return Ok(()) };
    hold!(subscribed.intersects(published), "a sample of {published} for {subscribed}");
    let wanted = if own { origin.allows_local() } else { origin.allows_remote() };
    hold!(wanted, "a sample of {published} of an origin that {subscribed} does not want");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_for_others_are_found() {
        let (key, other) = (KeyExpr::new("a/*").unwrap(), KeyExpr::new("a/b").unwrap());
        let stranger = KeyExpr::new("b").unwrap();
        let fine =
            Receipt { subscribed: Some(&key), origin: Locality::Any, published: &other, own: true };
        assert_eq!(check(fine), Ok(()));
        assert!(check(Receipt { published: &stranger, ..fine }).is_err());
        assert!(check(Receipt { subscribed: None, ..fine }).is_err());
        assert!(check(Receipt { origin: Locality::Remote, ..fine }).is_err());
        let remote = Receipt { origin: Locality::Remote, own: false, ..fine };
        assert_eq!(check(remote), Ok(()));
        assert!(check(Receipt { origin: Locality::SessionLocal, ..remote }).is_err());
    }
}

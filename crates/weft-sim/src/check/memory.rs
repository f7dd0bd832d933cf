//! Memory stays within its limits, and is given back when its reason is gone.

use weft_node::NodeFootprint;
use weft_routing::Footprint;

use super::{Verdict, hold};

/// The lanes of one transport hold no more than they may.
pub(crate) fn lanes((bytes, limit): (usize, usize)) -> Verdict {
    hold!(bytes <= limit, "{bytes} bytes are queued where {limit} are allowed");
    Ok(())
}

/// The session has withdrawn everything, and so has everybody else: only neighbours are left.
pub(crate) fn nothing_declared(node: &NodeFootprint, routing: &Footprint) -> Verdict {
    let Footprint { keys, declarations, told, interests, standing_interests, .. } = *routing;
    let Footprint { open_interests, asked, queries, .. } = *routing;
    let left = [keys, declarations, told, interests, standing_interests];
    let left = left.into_iter().chain([open_interests, asked, queries, node.token_queries]);
    hold!(left.sum::<usize>() == 0, "something is left: {node:?} {routing:?}");
    Ok(())
}

/// Handshakes that are not complete are few.
pub(crate) fn pending(node: &NodeFootprint, accept_pending_max: usize) -> Verdict {
    let NodeFootprint { links, pending, transports, dials, timers, token_queries, .. } = *node;
    hold!(pending <= accept_pending_max.max(1), "{pending} handshakes are pending");
    let explained = pending + 2 * transports + dials;
    hold!(links <= explained, "{links} links for {explained} reasons");
    let reasons = links + dials + token_queries + 2;
    hold!(timers <= reasons, "{timers} timers for {reasons} reasons");
    Ok(())
}

/// A node that has closed remembers nobody, and nothing but what its own session declared.
pub(crate) fn nobody(node: &NodeFootprint, routing: &Footprint) -> Verdict {
    let Footprint { faces, open_interests, asked, queries, exprs, .. } = *routing;
    let left = [node.links, node.transports, node.dials, node.timers, node.token_queries];
    let left = left.into_iter().chain([faces, open_interests, asked, queries, exprs]);
    hold!(left.sum::<usize>() == 0, "somebody is left: {node:?} {routing:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overfull_lanes_are_found() {
        assert_eq!(lanes((10, 10)), Ok(()));
        assert!(lanes((11, 10)).is_err());
    }

    #[test]
    fn leftovers_are_found() {
        let node = NodeFootprint::default();
        let mut routing = Footprint::default();
        assert_eq!(nothing_declared(&node, &routing), Ok(()));
        assert_eq!(nobody(&node, &routing), Ok(()));
        let busy = NodeFootprint { timers: 1, ..node };
        assert!(nobody(&busy, &routing).is_err());
        routing.exprs = 1;
        assert_eq!(nothing_declared(&node, &routing), Ok(()), "numbers stay with the neighbour");
        assert!(nobody(&node, &routing).is_err());
        routing.asked = 1;
        assert!(nothing_declared(&node, &routing).is_err());
    }

    #[test]
    fn unexplained_links_and_timers_are_found() {
        let node = NodeFootprint { links: 3, pending: 3, timers: 3, ..NodeFootprint::default() };
        assert_eq!(pending(&node, 3), Ok(()));
        assert!(pending(&node, 2).is_err());
        assert!(pending(&NodeFootprint { links: 4, ..node }, 3).is_err());
        assert!(pending(&NodeFootprint { timers: 6, ..node }, 3).is_err());
    }
}

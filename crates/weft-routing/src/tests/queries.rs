//! Queries: who is asked, and that each ends once, whatever happens.

use super::*;
use crate::{PendingReply, QueryHop};
use QueryTarget::{All, AllComplete, BestMatching};
use WhatAmI::{Client, Peer, Router};

const COMPLETE: QueryableInfo = QueryableInfo { complete: true, distance: 0 };

/// The faces that are asked, the session as 0.
fn asked(plan: &QueryPlan) -> Vec<u32> {
    let local = plan.local.map(|_| FaceId::LOCAL.0);
    local.into_iter().chain(plan.hops.iter().map(|hop| hop.face.0)).collect()
}

#[test]
fn the_best_match_is_one_over_all_regions() {
    let mut peer = Bench::new(Peer);
    let (router, other, client) =
        (peer.neighbour(Router), peer.neighbour(Peer), peer.neighbour(Client));
    peer.finishes(other, 0);
    peer.wants(1, Kind::Queryable, "q", LocalInterestMode::CurrentFuture);
    peer.finishes(router, 1);
    peer.sent();
    assert!(peer.query(FaceId::LOCAL, "q", BestMatching).is_empty());
    peer.declares(client, Kind::Queryable, 1, "q");
    peer.declares_info(router, Kind::Queryable, 1, "**", COMPLETE);
    peer.declares_info(other, Kind::Queryable, 1, "q", QueryableInfo { distance: 3, ..COMPLETE });
    assert_eq!(asked(&peer.query(FaceId::LOCAL, "q", BestMatching)), [router.0]);
    assert_eq!(asked(&peer.query(FaceId::LOCAL, "q", AllComplete)), [router.0, other.0]);
    assert_eq!(asked(&peer.query(FaceId::LOCAL, "q", All)), [router.0, other.0, client.0]);
    let own = Some(COMPLETE);
    assert_eq!(asked(&peer.query_own(FaceId::LOCAL, "q", BestMatching, own)), [0], "nearest");
    peer.departure(router);
    assert_eq!(asked(&peer.query(FaceId::LOCAL, "q", BestMatching)), [other.0]);
}

#[test]
fn completeness_counts_only_for_what_the_key_covers() {
    let mut router = Bench::new(Router);
    let client = router.neighbour(Client);
    router.declares_info(client, Kind::Queryable, 1, "m/*", COMPLETE);
    assert_eq!(asked(&router.query(FaceId::LOCAL, "m/**", BestMatching)), [client.0]);
    assert!(router.query(FaceId::LOCAL, "m/**", AllComplete).is_empty());
    assert_eq!(asked(&router.query(FaceId::LOCAL, "m/x", AllComplete)), [client.0]);
}

#[test]
fn queries_do_not_come_back_and_peers_are_not_brokered() {
    let mut router = Bench::new(Router);
    let (client, p, q) = (router.neighbour(Client), router.neighbour(Peer), router.neighbour(Peer));
    for face in [client, p, q] {
        router.declares(face, Kind::Queryable, 1, "q");
    }
    assert_eq!(asked(&router.query(client, "q", All)), [p.0, q.0]);
    assert_eq!(asked(&router.query(p, "q", All)), [client.0]);
}

#[test]
fn neighbours_that_may_have_more_are_asked_until_they_have_told() {
    let mut peer = Bench::new(Peer);
    let (router, other, client) =
        (peer.neighbour(Router), peer.neighbour(Peer), peer.neighbour(Client));
    assert_eq!(asked(&peer.query(client, "q", AllComplete)), [router.0, other.0]);
    peer.finishes(other, 0);
    assert_eq!(asked(&peer.query(client, "q", All)), [router.0]);
    assert_eq!(asked(&peer.query(other, "q", All)), [0; 0], "not on to another northern one");
    peer.asks(client, 1, InterestMode::CurrentFuture, Kind::Queryable, "q");
    peer.finishes(router, 1);
    assert!(peer.query(client, "q", All).is_empty());
}

#[test]
fn a_scope_keeps_a_query_inside_or_outside() {
    let mut client = Bench::new(Client);
    let router = client.neighbour(Router);
    let query = |client: &mut Bench, scope| {
        let request = QueryRequest {
            source: FaceId::LOCAL,
            node_id: 0,
            source_id: 1,
            key: &key("q"),
            target: All,
            qos: Qos::REQUEST,
            timeout_us: 1,
            scope,
        };
        asked(&client.routing.open_query(0, request, Some(NONE)))
    };
    assert_eq!(query(&mut client, QueryScope::Any), [0, router.0]);
    assert_eq!(query(&mut client, QueryScope::Local), [0]);
    assert_eq!(query(&mut client, QueryScope::Remote), [router.0]);
}

#[test]
fn a_query_ends_with_its_last_branch() {
    let mut router = Bench::new(Router);
    let (a, b, c) = (router.neighbour(Client), router.neighbour(Client), router.neighbour(Client));
    for face in [b, c] {
        router.declares(face, Kind::Queryable, 1, "q");
    }
    let plan = router.query(a, "q", All);
    let [QueryHop { face, id, .. }, other] = &plan.hops[..] else { panic!("{plan:?}") };
    let reply = PendingReply { source: a, source_id: 7, qos: Qos::REQUEST };
    assert_eq!(router.routing.reply_route(*face, *id), Some(reply));
    assert_eq!(router.routing.end_branch(*face, *id), None);
    assert_eq!(router.routing.reply_route(*face, *id), None);
    assert_eq!(router.routing.end_branch(*face, *id), None, "said twice");
    assert_eq!(router.routing.end_branch(other.face, other.id), Some(reply));
    assert_eq!(router.routing.footprint().queries, 0);
    assert_eq!(router.routing.next_timeout(), None);
}

#[test]
fn a_silent_neighbour_is_given_up_with_an_error_in_its_name() {
    let mut router = Bench::new(Router);
    let (a, b) = (router.neighbour(Client), router.neighbour(Client));
    router.declares(b, Kind::Queryable, 1, "q");
    let plan = router.query(a, "q", All);
    router.advance(999_999);
    assert_eq!(router.sent(), [""; 0]);
    router.advance(1);
    let responder = weft_wire::EntityGlobalId { zid: zid("b2"), eid: 0 };
    assert_eq!(router.sent(), [format!("1 response 7 {:?}", Some(responder)), "1 end 7".into()]);
    assert_eq!(router.routing.end_branch(b, plan.hops[0].id), None, "too late");

    router.query(FaceId::LOCAL, "q", All);
    router.advance(1_000_000);
    assert_eq!(
        router.events(),
        [Event::QueryTimeout { query: 7, responder: zid("b2") }, Event::QueryFinal { query: 7 }]
    );
}

/// The bytes that the reference's router makes for a silent neighbour.
#[test]
fn the_error_for_a_timeout_is_that_of_the_reference() {
    let mut router = Bench::new(Router);
    let a = router.neighbour(Client);
    let silent = router.routing.next_face();
    let init = FaceInit::new(zid("cc02"), Client);
    router.routing.face_up(0, silent, init, &mut router.out).unwrap();
    router.declares(silent, Kind::Queryable, 1, "slow/q");
    let request = QueryRequest {
        source: a,
        node_id: 0,
        source_id: 1,
        key: &key("slow/q"),
        target: All,
        qos: Qos::DEFAULT,
        timeout_us: 500_000,
        scope: QueryScope::Any,
    };
    router.routing.open_query(0, request, None);
    router.advance(500_000);
    let expected = [
        0xdb, 0x01, 0x00, 0x43, 0x04, 0x10, 0x02, 0xcc, 0x00, 0x05, 0x07, b'T', b'i', b'm', b'e',
        b'o', b'u', b't', 0x1a, 0x01,
    ];
    assert_eq!(router.sent_to(a), expected);
}

#[test]
fn a_neighbour_that_leaves_ends_its_branches_without_an_error() {
    let mut router = Bench::new(Router);
    let (a, b) = (router.neighbour(Client), router.neighbour(Client));
    router.declares(b, Kind::Queryable, 1, "q");
    router.query(a, "q", All);
    router.query(FaceId::LOCAL, "q", All);
    router.departure(b);
    assert_eq!(router.sent(), ["1 end 7"]);
    assert_eq!(router.events(), [Event::QueryFinal { query: 7 }]);
}

#[test]
fn a_source_that_leaves_takes_its_queries_along() {
    let mut router = Bench::new(Router);
    let (a, b) = (router.neighbour(Client), router.neighbour(Client));
    router.declares(b, Kind::Queryable, 1, "q");
    let plan = router.query(a, "q", All);
    router.departure(a);
    assert_eq!(router.routing.footprint().queries, 0);
    assert_eq!(router.routing.reply_route(b, plan.hops[0].id), None);
    assert!(router.query(a, "q", All).is_empty(), "a message that was on its way");
    router.advance(2_000_000);
    assert_eq!(router.sent(), [""; 0]);
}

#[test]
fn a_cancelled_query_is_forgotten_and_others_are_not() {
    let mut router = Bench::new(Router);
    let (a, b) = (router.neighbour(Client), router.neighbour(Client));
    router.declares(b, Kind::Queryable, 1, "q");
    let cancelled = router.query(FaceId::LOCAL, "q", All);
    let kept = router.query(a, "q", All);
    router.routing.cancel_query(7);
    router.routing.cancel_query(7);
    assert_eq!(router.routing.reply_route(b, cancelled.hops[0].id), None);
    assert!(router.routing.reply_route(b, kept.hops[0].id).is_some());
    assert_eq!(router.routing.footprint().queries, 1);
}

#[test]
fn a_session_that_closes_has_its_queries_ended() {
    let mut router = Bench::new(Router);
    let (a, b) = (router.neighbour(Client), router.neighbour(Client));
    router.declares(b, Kind::Queryable, 1, "q");
    router.query(FaceId::LOCAL, "q", All);
    let own = router.query_own(FaceId::LOCAL, "elsewhere", All, Some(NONE));
    router.query(a, "q", All);
    router.routing.end_own_queries(&mut router.out);
    let end = Event::QueryFinal { query: 7 };
    assert_eq!(router.events(), [end.clone(), end]);
    assert_eq!(router.routing.reply_route(FaceId::LOCAL, own.local.unwrap()), None);
    assert_eq!(router.routing.footprint().queries, 1);
}

//! Asking a new parent for what a root owns.

use super::*;
use crate::schedule::{GRACE_US, OFFER_US};
use crate::{OFFER, RESEND, RESENT};
use WhatAmI::Router;
use weft_wire::{LinkState, LinkStateList, Oam, OamBody};

impl Bench {
    /// A member says something about `b2`, as an answer to the question of this number.
    fn answers_about(&mut self, face: FaceId, serial: u64, id: u16, digest: u64) {
        let psid = serial;
        let state = LinkState { psid, zid: Some(zid("b2")), sn: digest, ..LinkState::default() };
        let body = LinkStateList(Vec::from([state])).to_vec();
        let (qos, body) = (Qos::DECLARE, OamBody::ZBuf(&body));
        self.receive(face, &NetworkMessage::Oam(Oam { id, qos, timestamp: None, body }));
    }

    /// The same, as an answer to the last question.
    fn says(&mut self, face: FaceId, id: u16, digest: u64) {
        let serial = self.routing.schedule.last_serial();
        self.answers_about(face, serial.into(), id, digest);
    }

    /// What was said about `b2` to a member since the last call, other than link states, and how many
    /// declarations.
    fn said(&mut self, to: FaceId) -> (Vec<(u16, u64)>, usize) {
        let (mut said, mut declared) = (Vec::new(), 0);
        for (face, bytes) in core::mem::take(&mut self.out.sent) {
            match NetworkMessage::decode(&mut Reader::new(&bytes)).unwrap() {
                NetworkMessage::Oam(Oam { id, body: OamBody::ZBuf(body), .. }) => {
                    let list = LinkStateList::decode(&mut Reader::new(body)).unwrap();
                    let of_b = |it: &&LinkState| it.zid == Some(zid("b2"));
                    let state = list.0.iter().find(of_b).filter(|_| (RESEND..=OFFER).contains(&id));
                    said.extend(state.filter(|_| face == to).map(|state| (id, state.sn)));
                }
                NetworkMessage::Declare(_) if face == to => declared += 1,
                _ => {}
            }
        }
        (said, declared)
    }

    fn knows(&mut self, text: &str) -> bool {
        self.routing.has_remote_match(Kind::Subscriber, &key(text), false)
    }
}

/// A triangle of this implementation, in which `b2` owns `k` and its link to this node breaks: `c3` is
/// asked with the digest.
fn broken() -> (Bench, FaceId, u64) {
    let mut bench = Bench::new(Router);
    let [b, c] = ["b2", "c3"].map(|text| bench.member(text, Router, true));
    bench.states(b, &[(0, "b2", 5, &[1, 2]), (1, "a1", 0, &[]), (2, "c3", 5, &[0, 1])]);
    bench.states(c, &[(0, "c3", 6, &[1, 2]), (1, "a1", 0, &[]), (2, "b2", 5, &[0, 1])]);
    bench.advance(1_000_000);
    assert_eq!(bench.said(b).0, [(RESEND, 0)], "nothing is known");
    bench.says(b, RESENT, 0);
    bench.sourced(b, 0, Kind::Subscriber, "k");
    bench.departure(b);
    bench.states(c, &[(2, "b2", 6, &[0])]);
    bench.advance(1_000_000);
    let (said, _) = bench.said(c);
    let [(RESEND, digest)] = said[..] else { panic!("{said:?}") };
    assert_ne!(digest, 0);
    (bench, c, digest)
}

#[test]
fn a_parent_that_knows_the_same_need_not_tell_it() {
    let (mut bench, c, digest) = broken();
    bench.says(c, RESENT, digest);
    assert_eq!(bench.said(c), (Vec::new(), 0));
    bench.advance(2 * GRACE_US);
    assert!(bench.knows("k"), "as if c3 had said it");
    let undeclare = crate::message::undeclare_for(NodeIx(2), Kind::Subscriber, WireExpr::full("k"));
    bench.receive(c, &undeclare);
    assert!(!bench.knows("k"));
}

#[test]
fn a_parent_that_has_told_everything_is_believed() {
    let (mut bench, c, _) = broken();
    bench.sourced(c, 2, Kind::Subscriber, "other");
    bench.says(c, RESENT, 0);
    assert!(bench.knows("other") && !bench.knows("k"));
}

#[test]
fn who_knows_something_else_by_now_asks_for_everything() {
    let (mut bench, c, digest) = broken();
    bench.sourced(c, 2, Kind::Subscriber, "late");
    bench.says(c, RESENT, digest);
    assert_eq!(bench.said(c).0, [(RESEND, 0)]);
    assert!(bench.knows("k"), "until the answer has come");
    bench.sourced(c, 2, Kind::Subscriber, "late");
    bench.says(c, RESENT, 0);
    assert!(bench.knows("late") && !bench.knows("k"));
}

/// The first answer came in parts, of which one was there when the second question was asked.
#[test]
fn an_answer_to_an_earlier_question_does_not_count() {
    let (mut bench, c, digest) = broken();
    bench.sourced(c, 2, Kind::Subscriber, "k");
    let serial = u64::from(bench.routing.schedule.last_serial());
    bench.answers_about(c, serial - 1, RESENT, 0);
    assert!(bench.knows("k"));
    bench.says(c, RESENT, digest);
    bench.advance(2 * GRACE_US);
    assert!(bench.knows("k"));
}

#[test]
fn an_offer_is_taken_by_those_who_know_something_else() {
    let (mut bench, c, digest) = broken();
    bench.says(c, OFFER, digest + 1);
    assert_eq!(bench.said(c).0, [], "the answer is under way");
    bench.says(c, RESENT, digest);
    bench.says(c, OFFER, digest);
    assert_eq!(bench.said(c).0, []);
    bench.says(c, OFFER, digest + 1);
    assert_eq!(bench.said(c).0, [(RESEND, digest)]);
}

#[test]
fn a_child_is_told_only_what_it_does_not_know() {
    let mut bench = Bench::new(Router);
    let [b, c] = ["b2", "c3"].map(|text| bench.member(text, Router, true));
    bench.states(b, &[(0, "b2", 5, &[1]), (1, "a1", 0, &[])]);
    bench.states(c, &[(0, "c3", 6, &[1]), (1, "a1", 0, &[])]);
    bench.sourced(b, 0, Kind::Subscriber, "k");
    bench.advance(OFFER_US + 1_000_000);
    let (said, _) = bench.said(c);
    let [(OFFER, digest)] = said[..] else { panic!("{said:?}") };
    assert_ne!(digest, 0);
    bench.says(c, RESEND, digest);
    assert_eq!(bench.said(c), (Vec::from([(RESENT, digest)]), 0));
    bench.says(c, RESEND, digest + 1);
    let (said, declared) = bench.said(c);
    assert_eq!(said, [(RESENT, 0)]);
    assert!(declared >= 1);
}

#[test]
fn a_child_that_lets_an_offer_pass_is_kept_up_to_date() {
    let mut bench = Bench::new(Router);
    let [b, c] = ["b2", "c3"].map(|text| bench.member(text, Router, true));
    bench.states(b, &[(0, "b2", 5, &[1]), (1, "a1", 0, &[])]);
    bench.states(c, &[(0, "c3", 6, &[1]), (1, "a1", 0, &[])]);
    bench.sourced(b, 0, Kind::Subscriber, "k");
    bench.advance(OFFER_US + 1_000_000);
    let (said, _) = bench.said(c);
    assert!(matches!(said[..], [(OFFER, _)]), "{said:?}");
    // It knew the key from elsewhere, and says nothing.
    bench.unsourced(b, 0, Kind::Subscriber, "k");
    assert_eq!(bench.said(c), (Vec::new(), 1));
}

#[test]
fn who_would_not_understand_an_offer_is_told_instead() {
    let mut bench = Bench::new(Router);
    let [b, d] = ["b2", "d4"].map(|text| bench.member(text, Router, true));
    bench.states(b, &[(0, "b2", 5, &[1]), (1, "a1", 0, &[])]);
    bench.states(d, &[(0, "d4", 5, &[1]), (1, "a1", 0, &[])]);
    bench.sourced(b, 0, Kind::Subscriber, "k");
    // Trees are looked at just before the offer to `d4`, so that they are not when `c3` comes.
    bench.now_us = OFFER_US - 1_000;
    bench.states(b, &[(0, "b2", 6, &[1, 2]), (2, "e5", 0, &[])]);
    bench.now_us += 500;
    let c = bench.member("c3", Router, false);
    bench.states(c, &[(0, "c3", 6, &[1]), (1, "a1", 0, &[])]);
    for us in [500, 50_000, 1_000_000] {
        bench.now_us += us;
        bench.routing.handle_timeout(bench.now_us, &mut bench.out);
    }
    let sent = bench.sent();
    let told = format!("{} sub 0", c.0);
    assert!(sent.iter().any(|it| it.starts_with(&told)), "{sent:?}");
}

#[test]
fn what_came_from_elsewhere_is_confirmed_and_not_dropped() {
    let mut bench = Bench::new(Router);
    let [b, c] = ["b2", "c3"].map(|text| bench.member(text, Router, true));
    bench.states(b, &[(0, "b2", 5, &[1, 2]), (1, "a1", 0, &[]), (2, "c3", 5, &[0, 1])]);
    bench.states(c, &[(0, "c3", 6, &[1, 2]), (1, "a1", 0, &[]), (2, "b2", 5, &[0, 1])]);
    bench.advance(1_000_000);
    for serial in 1..=bench.routing.schedule.last_serial() {
        bench.answers_about(b, serial.into(), RESENT, 0);
    }
    // `c3`, which is not the parent, tells first; then the parent finds that the same is known here.
    bench.sourced(c, 2, Kind::Subscriber, "k");
    assert!(bench.knows("k"));
    bench.said(b);
    bench.advance(GRACE_US + 1_000_000);
    assert!(bench.knows("k"), "it is dropped only if the parent does not know it");
    let (asked, _) = bench.said(b);
    let [(RESEND, digest)] = asked[..] else { panic!("{asked:?}") };
    bench.says(b, RESENT, digest);
    bench.advance(GRACE_US + 1_000_000);
    assert!(bench.knows("k"));
    assert_eq!(bench.said(b), (Vec::new(), 0), "that is settled");
    // And if the parent does not know it, it ends.
    bench.sourced(c, 2, Kind::Subscriber, "m");
    bench.advance(GRACE_US + 1_000_000);
    bench.says(b, RESENT, 0);
    assert!(!bench.knows("m"));
}

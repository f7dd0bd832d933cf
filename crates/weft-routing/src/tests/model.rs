//! A naive model of who should know what, against the engine, over random histories.
//!
//! The model keeps flat lists and computes everything anew at each step. Neighbours are played by
//! the test: those in the south ask and declare at random, those that serve the engine behave as
//! the specification tells a router to.

mod upstream;
mod view;

use super::*;
use WhatAmI::{Client, Peer, Router};
use alloc::collections::{BTreeMap, BTreeSet};
use upstream::Upstream;
use view::View;

/// xorshift64*: all that a test needs.
pub(super) struct Rng(u64);

impl Rng {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

const KEYS: &[&str] = &["a/1", "a/2", "a/*", "a/**", "b/1/x", "b/*/x", "**", "c", "a/$*2"];
/// Aggregate interests use keys of their own, so that what stands for many can be told apart.
const AGGREGATES: &[&str] = &["a/*/**", "b/**", "*/1/**"];
const KINDS: [Kind; 3] = Kind::ALL;

/// Where a face is, by the table of the specification and not by the engine's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Session,
    North,
    Clients,
    Peers,
}

fn place(own: WhatAmI, remote: WhatAmI) -> Place {
    match (own, remote) {
        (Router | Peer, Client) => Place::Clients,
        (Router, Peer) => Place::Peers,
        _ => Place::North,
    }
}

/// A neighbour, or the session, as the model sees it.
struct Member {
    place: Place,
    upstream: bool,
    ready: bool,
    declared: BTreeMap<(Kind, u32), (String, QueryableInfo)>,
    interests: BTreeMap<u32, Wish>,
    /// What the engine told it, from the messages alone.
    view: View,
    /// If the neighbour serves the engine.
    router: Upstream,
    next_id: u32,
}

#[derive(Clone)]
struct Wish {
    kind: Kind,
    key: String,
    mode: InterestMode,
    aggregate: bool,
    /// Keys that came into being since the interest.
    since: BTreeSet<String>,
}

impl Wish {
    fn matches(&self, kind: Kind, text: &str) -> bool {
        self.kind == kind && key(&self.key).intersects(&key(text))
    }
}

impl Member {
    fn new(place: Place, upstream: bool) -> Self {
        Self {
            place,
            upstream,
            ready: place != Place::North || upstream,
            declared: BTreeMap::new(),
            interests: BTreeMap::new(),
            view: View::default(),
            router: Upstream::default(),
            next_id: 1,
        }
    }
}

struct Trial {
    mode: WhatAmI,
    bench: Bench,
    members: BTreeMap<FaceId, Member>,
    rng: Rng,
}

impl Trial {
    fn new(mode: WhatAmI, seed: u64) -> Self {
        let session = Member::new(Place::Session, false);
        Self {
            mode,
            bench: Bench::new(mode),
            members: BTreeMap::from([(FaceId::LOCAL, session)]),
            rng: Rng::new(seed),
        }
    }

    fn flows(&self, from: FaceId, to: FaceId) -> bool {
        let (a, b) = (self.members[&from].place, self.members[&to].place);
        from != to && (a != b || matches!(a, Place::Clients | Place::Session))
    }

    /// The keys of `kind` that `face` may hear of, with the best information.
    fn exists(&self, face: FaceId, kind: Kind) -> BTreeMap<String, QueryableInfo> {
        let mut found: BTreeMap<String, QueryableInfo> = BTreeMap::new();
        for (owner, member) in &self.members {
            let own_token = kind == Kind::Token
                && *owner == face
                && matches!(member.place, Place::Clients | Place::Session);
            if !own_token && !self.flows(*owner, face) {
                continue;
            }
            for ((other, _), (key, info)) in &member.declared {
                if *other == kind {
                    let best = found.entry(key.clone()).or_insert(*info);
                    *best = better(*best, *info);
                }
            }
        }
        found
    }

    fn step(&mut self) {
        match self.rng.below(100) {
            0..8 => self.arrive(),
            8..12 => self.depart(),
            12..40 => self.declare(),
            40..60 => self.undeclare(),
            60..75 => self.ask(),
            75..83 => self.ask_no_more(),
            83..95 => self.serve(),
            _ => self.get_ready(),
        }
        self.collect();
    }

    fn arrive(&mut self) {
        let whatami = *self.rng.pick(&[Client, Client, Peer, Router]);
        // Members of a network have a model of their own (`tests/networks`).
        if self.members.len() > 6 || (self.mode, whatami) == (Router, Router) {
            return;
        }
        let Ok(face) = self.bench.arrival(whatami) else { return };
        let upstream = whatami == Router || (self.mode == Client && whatami == Peer);
        self.members.insert(face, Member::new(place(self.mode, whatami), upstream));
    }

    fn neighbour(&mut self, fits: impl Fn(&Member) -> bool) -> Option<FaceId> {
        let fitting: Vec<FaceId> =
            self.members.iter().filter(|(_, it)| fits(it)).map(|(face, _)| *face).collect();
        (!fitting.is_empty()).then(|| *self.rng.pick(&fitting))
    }

    fn depart(&mut self) {
        if let Some(face) = self.neighbour(|it| it.place != Place::Session) {
            self.bench.departure(face);
            self.members.remove(&face);
        }
    }

    fn declare(&mut self) {
        let Some(face) = self.neighbour(|_| true) else { return };
        let kind = *self.rng.pick(&KINDS);
        let text = (*self.rng.pick(KEYS)).to_string();
        let mut info = NONE;
        if kind == Kind::Queryable {
            info.complete = self.rng.chance(50);
            info.distance = self.rng.below(3) as u16;
        }
        let member = self.members.get_mut(&face).unwrap();
        if member.upstream {
            for message in member.router.declare(kind, &text) {
                self.bench.receive_bytes(face, &message);
            }
            return;
        }
        let id = member.next_id;
        member.next_id += 1;
        member.declared.insert((kind, id), (text.clone(), info));
        if face == FaceId::LOCAL {
            let key = key(&text);
            self.bench.routing.declare(kind, id, &key, info, &mut self.bench.out);
        } else {
            self.bench.declares_info(face, kind, id, &text, info);
        }
    }

    fn undeclare(&mut self) {
        let Some(face) = self.neighbour(|it| !it.declared.is_empty() || it.upstream) else {
            return;
        };
        let member = self.members.get_mut(&face).unwrap();
        if member.upstream {
            let kind = *self.rng.pick(&KINDS);
            let text = *self.rng.pick(KEYS);
            for message in member.router.undeclare(kind, text) {
                self.bench.receive_bytes(face, &message);
            }
            return;
        }
        let all: Vec<(Kind, u32)> = member.declared.keys().copied().collect();
        let (kind, id) = *self.rng.pick(&all);
        member.declared.remove(&(kind, id));
        if face == FaceId::LOCAL {
            self.bench.undeclare(kind, id);
        } else {
            self.bench.undeclares(face, kind, id);
        }
    }

    fn ask(&mut self) {
        let Some(face) = self.neighbour(|it| !it.upstream) else { return };
        let kind = *self.rng.pick(&KINDS);
        use InterestMode::{Current, CurrentFuture, Future};
        let mode = *self.rng.pick(&[Current, Future, CurrentFuture, CurrentFuture]);
        let member = self.members.get_mut(&face).unwrap();
        let aggregate = member.place == Place::Clients
            && kind != Kind::Token
            && mode == CurrentFuture
            && self.rng.chance(30);
        let text = *self.rng.pick(if aggregate { AGGREGATES } else { KEYS });
        if aggregate && member.interests.values().any(|it| it.kind == kind && it.key == text) {
            return;
        }
        let id = member.next_id;
        member.next_id += 1;
        let wish = Wish { kind, key: text.to_string(), mode, aggregate, since: BTreeSet::new() };
        member.interests.insert(id, wish);
        if face == FaceId::LOCAL {
            let mode = match mode {
                Current => LocalInterestMode::Current,
                Future => LocalInterestMode::Future,
                _ => LocalInterestMode::CurrentFuture,
            };
            self.bench.wants(id, kind, text, mode);
        } else {
            let options =
                InterestOptions { aggregate, ..KindSet::only(kind).to_options(false, false) };
            self.bench.asks_options(face, id, mode, options, text);
        }
    }

    fn ask_no_more(&mut self) {
        let Some(face) = self.neighbour(|it| !it.interests.is_empty()) else { return };
        let member = self.members.get_mut(&face).unwrap();
        let all: Vec<u32> = member.interests.keys().copied().collect();
        let id = *self.rng.pick(&all);
        let wish = member.interests.remove(&id).unwrap();
        member.view.forget(id, &wish);
        if face == FaceId::LOCAL {
            self.bench.wants_no_more(id);
        } else {
            self.bench.asks(face, id, InterestMode::Final, Kind::Token, "");
        }
    }

    /// One that serves the engine handles the next of its messages.
    fn serve(&mut self) {
        let Some(face) = self.neighbour(|it| it.router.is_behind()) else { return };
        self.serve_one(face);
    }

    fn serve_one(&mut self, face: FaceId) {
        let answers = self.members.get_mut(&face).unwrap().router.handle_next();
        for message in answers {
            self.bench.receive_bytes(face, &message);
        }
    }

    fn get_ready(&mut self) {
        if let Some(face) = self.neighbour(|it| !it.ready) {
            self.members.get_mut(&face).unwrap().ready = true;
            self.bench.finishes(face, 0);
        }
    }

    /// Takes what the engine said into the views, then compares.
    fn collect(&mut self) {
        for (face, bytes) in core::mem::take(&mut self.bench.out.sent) {
            let Some(member) = self.members.get_mut(&face) else { continue };
            if member.upstream {
                member.router.receive(&bytes);
            }
            member.view.receive(&bytes, member.upstream);
        }
        // What those who serve have told, by now, is what they declared.
        for member in self.members.values_mut().filter(|it| it.upstream) {
            member.declared = member.router.told();
        }
        let events = self.bench.events();
        self.members.get_mut(&FaceId::LOCAL).unwrap().view.hear(events);
        let faces: Vec<FaceId> = self.members.keys().copied().collect();
        for face in faces {
            for kind in KINDS {
                self.compare(face, kind);
            }
        }
    }

    fn compare(&mut self, face: FaceId, kind: Kind) {
        let exists = self.exists(face, kind);
        // What an upstream tells may have been there for long: history, not news.
        let upstream = self.members.values().filter(|it| it.upstream);
        let old: BTreeSet<String> = upstream
            .flat_map(|it| &it.declared)
            .filter(|((other, _), _)| *other == kind && kind == Kind::Token)
            .map(|(_, (key, _))| key.clone())
            .collect();
        let member = self.members.get_mut(&face).unwrap();
        for wish in member.interests.values_mut().filter(|it| it.kind == kind) {
            let came = member.view.new_keys(kind, &exists);
            let came = came.filter(|key| wish.matches(kind, key) && !old.contains(key));
            let came: Vec<String> = came.collect();
            wish.since.extend(came);
            wish.since.retain(|key| exists.contains_key(key));
        }
        member.view.existed(kind, &exists);
        // While an answer is on its way, a token may be known here and not yet to all who asked.
        let settled = self.members.values().all(|it| !it.router.is_behind());
        let member = &self.members[&face];
        if face == FaceId::LOCAL {
            return self.compare_session(kind, &exists, settled);
        }
        let (aggregates, known): (BTreeMap<_, _>, BTreeMap<_, _>) = member
            .view
            .known(kind)
            .into_iter()
            .partition(|(key, _)| AGGREGATES.contains(&key.as_str()));
        if member.place == Place::North {
            assert_eq!(known, exists, "{face:?} is told every {kind:?} there is");
        } else {
            for (key, info) in &known {
                assert_eq!(exists.get(key), Some(info), "{face:?} is told of {kind:?} {key}");
            }
            for wish in member.interests.values().filter(|it| it.kind == kind && !it.aggregate) {
                let all = wish.mode == InterestMode::CurrentFuture;
                for key in exists.keys().filter(|key| wish.matches(kind, key)) {
                    let due = all || wish.since.contains(key);
                    let due = due && wish.mode != InterestMode::Current && settled;
                    assert!(!due || known.contains_key(key), "{face:?} misses {kind:?} {key}");
                }
            }
        }
        for text in AGGREGATES {
            let wanted = member.interests.values();
            let wanted = wanted.filter(|it| it.aggregate && it.kind == kind && it.key == *text);
            let matched: Vec<_> =
                exists.iter().filter(|(other, _)| key(text).intersects(&key(other))).collect();
            let expected = matched.iter().map(|(other, info)| {
                let complete = info.complete && key(other).includes(&key(text));
                QueryableInfo { complete, ..**info }
            });
            let expected = expected.reduce(better);
            if wanted.count() > 0 {
                assert_eq!(aggregates.get(*text).copied(), expected, "{face:?} {kind:?} {text}");
            }
        }
    }

    fn compare_session(&self, kind: Kind, exists: &BTreeMap<String, QueryableInfo>, settled: bool) {
        let session = &self.members[&FaceId::LOCAL];
        for (id, wish) in &session.interests {
            if wish.kind != Kind::Token || kind != Kind::Token {
                continue;
            }
            let matching: BTreeSet<String> =
                exists.keys().filter(|key| wish.matches(kind, key)).cloned().collect();
            let alive = session.view.alive(*id);
            match wish.mode {
                InterestMode::CurrentFuture if settled => assert_eq!(alive, matching),
                InterestMode::Current => {}
                _ => assert!(alive.is_subset(&matching), "{alive:?} of {matching:?}"),
            }
        }
    }

    fn check_route(&mut self) {
        let Some(source) = self.neighbour(|_| true) else { return };
        let text = *self.rng.pick(KEYS);
        let expected: BTreeSet<u32> = self
            .members
            .iter()
            .filter(|(face, member)| {
                let subscribed = member.declared.iter().any(|((kind, _), (other, _))| {
                    *kind == Kind::Subscriber && key(other).intersects(&key(text))
                });
                self.flows(source, **face) && (subscribed || self.is_unsure(source, member, text))
            })
            .map(|(face, _)| face.0)
            .collect();
        let route: Vec<u32> = self.bench.route(source, text);
        assert_eq!(route.iter().copied().collect::<BTreeSet<_>>(), expected, "{text}");
        assert_eq!(route.len(), expected.len(), "each once");
    }

    /// Whether `member` may want what it did not declare.
    fn is_unsure(&self, source: FaceId, member: &Member, text: &str) -> bool {
        self.members[&source].place != Place::North
            && member.place == Place::North
            && if member.upstream {
                !member.router.has_answered(Kind::Subscriber, text)
            } else {
                !member.ready
            }
    }

    /// Everyone leaves and everything is withdrawn: nothing is left.
    fn finish(mut self) {
        while let Some(face) = self.neighbour(|it| it.router.is_behind()) {
            self.serve_one(face);
            self.collect();
        }
        let faces: Vec<FaceId> = self.members.keys().copied().collect();
        for face in faces.into_iter().filter(|face| *face != FaceId::LOCAL) {
            self.bench.departure(face);
            self.members.remove(&face);
            self.collect();
        }
        let session = self.members.remove(&FaceId::LOCAL).unwrap();
        for (kind, id) in session.declared.into_keys() {
            self.bench.undeclare(kind, id);
        }
        for id in session.interests.into_keys() {
            self.bench.wants_no_more(id);
        }
        self.bench.routing.invalidate(&key("**"));
        let left = self.bench.routing.footprint();
        let routes = left.routes;
        assert_eq!(left, crate::Footprint { routes, ..crate::Footprint::default() });
    }
}

fn better(a: QueryableInfo, b: QueryableInfo) -> QueryableInfo {
    let rank = |info: QueryableInfo| (!info.complete, info.distance);
    if rank(b) < rank(a) { b } else { a }
}

#[test]
fn everyone_knows_what_they_should() {
    for mode in [Router, Peer, Client] {
        for seed in 0..200 {
            let run = std::panic::catch_unwind(|| {
                let mut trial = Trial::new(mode, seed);
                for _ in 0..120 {
                    trial.step();
                    trial.check_route();
                }
                trial.finish();
            });
            assert!(run.is_ok(), "mode {mode:?}, seed {seed}");
        }
    }
}

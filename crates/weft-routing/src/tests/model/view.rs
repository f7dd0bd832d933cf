//! What a neighbour, or the session, was told: from messages and events alone.

use super::*;
use alloc::collections::{BTreeMap, BTreeSet};
use weft_wire::Mapping;

#[derive(Default)]
pub(super) struct View {
    entities: BTreeMap<(Kind, u32), (String, QueryableInfo)>,
    exprs: BTreeMap<u16, String>,
    /// Interests whose answer was closed.
    closed: BTreeSet<u32>,
    /// Per interest of the session, the tokens that are alive.
    alive: BTreeMap<u32, BTreeSet<String>>,
    existed: [BTreeSet<String>; 3],
}

impl View {
    /// Takes a message in, as a neighbour would. `serves` is for one that is told everything.
    pub(super) fn receive(&mut self, bytes: &[u8], serves: bool) {
        let message = NetworkMessage::decode(&mut Reader::new(bytes)).unwrap();
        let NetworkMessage::Declare(declare) = message else { return };
        let answered = declare.interest_id;
        match declare.body {
            Declaration::KeyExpr { id, wire_expr } => {
                assert_eq!(wire_expr.scope, 0);
                let before = self.exprs.insert(id, wire_expr.suffix.to_string());
                assert_eq!(before, None, "an id was given twice");
            }
            Declaration::Subscriber { id, wire_expr } => {
                self.told(Kind::Subscriber, id, wire_expr, NONE, answered);
            }
            Declaration::Queryable { id, wire_expr, info } => {
                self.told(Kind::Queryable, id, wire_expr, info, answered);
            }
            Declaration::Token { id, wire_expr } => {
                self.told(Kind::Token, id, wire_expr, NONE, answered);
            }
            Declaration::UndeclareSubscriber { id, .. } => self.untold(Kind::Subscriber, id),
            Declaration::UndeclareQueryable { id, .. } => self.untold(Kind::Queryable, id),
            Declaration::UndeclareToken { id: 0, wire_expr } => {
                let text = self.text(wire_expr.unwrap());
                let known = self.known(Kind::Token);
                assert!(!known.contains_key(&text), "{text} goes under its id");
            }
            Declaration::UndeclareToken { id, .. } => self.untold(Kind::Token, id),
            Declaration::Final => {
                let id = answered.unwrap();
                assert!(self.closed.insert(id) || serves, "answer {id} was closed twice");
            }
            Declaration::UndeclareKeyExpr { .. } => panic!("ids are never taken back"),
        }
    }

    fn told(
        &mut self,
        kind: Kind,
        id: u32,
        expr: WireExpr<'_>,
        info: QueryableInfo,
        answered: Option<u32>,
    ) {
        if let Some(interest) = answered {
            assert!(!self.closed.contains(&interest), "answer {interest} goes on after its end");
        }
        if id == 0 {
            return assert!(answered.is_some(), "only a snapshot has no id");
        }
        let text = self.text(expr);
        let twice = self
            .entities
            .iter()
            .any(|((other, at), (known, _))| *other == kind && *at != id && *known == text);
        assert!(!twice, "{kind:?} {text} has two ids");
        if let Some((known, _)) = self.entities.insert((kind, id), (text.clone(), info)) {
            assert_eq!(known, text, "id {id} of {kind:?} means two things");
        }
    }

    fn untold(&mut self, kind: Kind, id: u32) {
        assert!(self.entities.remove(&(kind, id)).is_some(), "{kind:?} {id} was never told");
    }

    fn text(&self, expr: WireExpr<'_>) -> String {
        match (expr.scope, expr.mapping) {
            (0, _) => expr.suffix.to_string(),
            (scope, Mapping::Sender) => format!("{}{}", self.exprs[&scope], expr.suffix),
            (scope, Mapping::Receiver) => panic!("nobody gave {scope} to the engine"),
        }
    }

    pub(super) fn known(&self, kind: Kind) -> BTreeMap<String, QueryableInfo> {
        let of_kind = self.entities.iter().filter(|((other, _), _)| *other == kind);
        of_kind.map(|(_, known)| known.clone()).collect()
    }

    /// Takes events of the session in.
    pub(super) fn hear(&mut self, events: Vec<Event>) {
        for event in events {
            let Event::Token { interests, key, alive } = event else { continue };
            for id in interests {
                let tokens = self.alive.entry(id).or_default();
                if alive {
                    assert!(tokens.insert(key.to_string()), "{key} appeared twice for {id}");
                } else {
                    // One that was not told of, because it wanted changes only, may go unseen.
                    tokens.remove(key.as_str());
                }
            }
        }
    }

    pub(super) fn alive(&self, id: u32) -> BTreeSet<String> {
        self.alive.get(&id).cloned().unwrap_or_default()
    }

    /// An interest ended. What stood for all of its matches means nothing without it.
    pub(super) fn forget(&mut self, id: u32, wish: &Wish) {
        self.alive.remove(&id);
        self.closed.insert(id);
        if wish.aggregate {
            self.entities.retain(|(kind, _), (key, _)| *kind != wish.kind || *key != wish.key);
        }
    }

    /// The keys that did not exist at the last call of [`View::existed`].
    pub(super) fn new_keys(
        &self,
        kind: Kind,
        exists: &BTreeMap<String, QueryableInfo>,
    ) -> impl Iterator<Item = String> {
        let before = &self.existed[kind.index()];
        exists.keys().filter(|key| !before.contains(*key)).cloned()
    }

    pub(super) fn existed(&mut self, kind: Kind, exists: &BTreeMap<String, QueryableInfo>) {
        self.existed[kind.index()] = exists.keys().cloned().collect();
    }
}

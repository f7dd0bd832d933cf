//! A router above the engine, as the specification wants it: slow, and correct.

use super::*;
use alloc::collections::{BTreeMap, VecDeque};
use weft_wire::Mapping;

#[derive(Default)]
pub(super) struct Upstream {
    /// What exists beyond this router, and under which id the engine knows it.
    far: BTreeMap<(Kind, String), Option<u32>>,
    interests: BTreeMap<u32, (Kind, String, InterestMode)>,
    exprs: BTreeMap<u16, String>,
    inbox: VecDeque<Asked>,
    next_id: u32,
    answered: BTreeMap<u32, (Kind, String)>,
}

struct Asked {
    id: u32,
    mode: InterestMode,
    wish: Option<(Kind, String)>,
}

impl Upstream {
    /// A message of the engine arrives, and waits.
    pub(super) fn receive(&mut self, bytes: &[u8]) {
        match NetworkMessage::decode(&mut Reader::new(bytes)).unwrap() {
            NetworkMessage::Declare(declare) => {
                if let Declaration::KeyExpr { id, wire_expr } = declare.body {
                    self.exprs.insert(id, wire_expr.suffix.to_string());
                }
            }
            NetworkMessage::Interest(interest) => {
                let kind = match interest.options {
                    InterestOptions { subscribers: true, .. } => Kind::Subscriber,
                    InterestOptions { queryables: true, .. } => Kind::Queryable,
                    _ => Kind::Token,
                };
                let wish = interest.wire_expr.map(|expr| {
                    assert!(expr.scope == 0 || expr.mapping == Mapping::Sender);
                    let prefix = self.exprs.get(&expr.scope).map_or("", String::as_str);
                    (kind, format!("{prefix}{}", expr.suffix))
                });
                self.inbox.push_back(Asked { id: interest.id, mode: interest.mode, wish });
                if interest.mode == InterestMode::Final {
                    self.answered.remove(&interest.id);
                }
            }
            _ => {}
        }
    }

    pub(super) fn is_behind(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// Handles the next interest; returns the answers.
    pub(super) fn handle_next(&mut self) -> Vec<Vec<u8>> {
        let Some(Asked { id, mode, wish }) = self.inbox.pop_front() else { return Vec::new() };
        let Some((kind, text)) = wish else {
            self.interests.remove(&id);
            return Vec::new();
        };
        let mut answers = Vec::new();
        let matching: Vec<String> = self
            .far
            .keys()
            .filter(|(other, far)| *other == kind && key(far).intersects(&key(&text)))
            .map(|(_, far)| far.clone())
            .collect();
        for far in matching.iter().filter(|_| mode.is_current()) {
            let entity = if mode.is_future() { self.id_of(kind, far) } else { 0 };
            answers.push(declaration(Some(id), kind, entity, far));
        }
        if mode.is_future() {
            self.interests.insert(id, (kind, text.clone(), mode));
        }
        let withdrawn = self.inbox.iter().any(|asked| asked.id == id);
        if mode == InterestMode::CurrentFuture && !withdrawn {
            self.answered.insert(id, (kind, text));
        }
        answers.push(encode(&crate::message::declare(Some(id), Declaration::Final)));
        answers
    }

    pub(super) fn declare(&mut self, kind: Kind, text: &str) -> Vec<Vec<u8>> {
        if self.far.contains_key(&(kind, text.to_string())) {
            return Vec::new();
        }
        self.far.insert((kind, text.to_string()), None);
        if !self.is_wanted(kind, text) {
            return Vec::new();
        }
        let id = self.id_of(kind, text);
        Vec::from([declaration(None, kind, id, text)])
    }

    pub(super) fn undeclare(&mut self, kind: Kind, text: &str) -> Vec<Vec<u8>> {
        match self.far.remove(&(kind, text.to_string())) {
            Some(Some(id)) => Vec::from([encode(&crate::message::undeclare(kind, id))]),
            Some(None) if kind == Kind::Token && self.is_wanted(kind, text) => {
                let gone = crate::message::undeclare_unseen_token(WireExpr::full(text));
                Vec::from([encode(&gone)])
            }
            _ => Vec::new(),
        }
    }

    /// What the engine knows of.
    pub(super) fn told(&self) -> BTreeMap<(Kind, u32), (String, QueryableInfo)> {
        let told = self.far.iter().filter_map(|((kind, text), id)| Some((*kind, text, (*id)?)));
        told.map(|(kind, text, id)| ((kind, id), (text.clone(), NONE))).collect()
    }

    /// Whether the engine may rely on having heard of every `kind` that matches `text`.
    pub(super) fn has_answered(&self, kind: Kind, text: &str) -> bool {
        self.answered.values().any(|(other, asked)| *other == kind && asked == text)
    }

    fn is_wanted(&self, kind: Kind, text: &str) -> bool {
        self.interests
            .values()
            .any(|(other, asked, _)| *other == kind && key(asked).intersects(&key(text)))
    }

    fn id_of(&mut self, kind: Kind, text: &str) -> u32 {
        self.next_id += 1;
        let next = self.next_id;
        let known = self.far.get_mut(&(kind, text.to_string())).unwrap();
        *known.get_or_insert(next)
    }
}

fn declaration(interest: Option<u32>, kind: Kind, id: u32, text: &str) -> Vec<u8> {
    let body = crate::message::declaration(kind, id, WireExpr::full(text), NONE);
    encode(&crate::message::declare(interest, body))
}

fn encode(message: &NetworkMessage<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    bytes
}

//! Rules for declarations and interests.
//!
//! Spec: 03 §8.1, the table of messages.

use alloc::vec::Vec;

use weft_intercept::{Chain, Flow, MessageKind};
use weft_keyexpr::Ke;
use weft_routing::{FaceId, Kind, Routing};
use weft_wire::{
    Declaration, Declare, Decode, Encode, Interest, InterestMode, InterestOptions, Mapping,
    NetworkMessage, Qos, Reader, WireExpr,
};

use super::Interception;
use crate::node::Node;
use crate::ports::Ports;

/// Something that a neighbour was not told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Withheld {
    /// A declaration, by its kind and id.
    Declared(Kind, u32),
    /// An interest.
    Interest(u32),
}

/// Messages from one call into routing to neighbours that have rules, in order.
#[derive(Debug, Default)]
pub(crate) struct Held(Vec<(FaceId, Vec<u8>)>);

impl Held {
    pub(crate) fn push(&mut self, face: FaceId, message: &NetworkMessage<'_>) {
        let mut bytes = Vec::new();
        let encoded = message.encode(&mut bytes);
        debug_assert!(encoded.is_ok(), "a vector is never full");
        self.0.push((face, bytes));
    }
}

/// Declarations and interests of one direction of one transport.
#[derive(Clone, Copy)]
struct Judge<'a> {
    routing: &'a Routing,
    chain: &'a Chain,
    face: FaceId,
    flow: Flow,
}

impl Judge<'_> {
    /// What cannot be resolved is left to whoever has to resolve it.
    fn admits(self, kind: MessageKind, expr: WireExpr<'_>) -> bool {
        if !self.chain.judges(kind) {
            return true;
        }
        // What this node calls its own, the neighbour calls the other's.
        let mapping = match (self.flow, expr.mapping) {
            (Flow::Ingress, mapping) => mapping,
            (Flow::Egress, Mapping::Sender) => Mapping::Receiver,
            (Flow::Egress, Mapping::Receiver) => Mapping::Sender,
        };
        let key = self.routing.resolve(self.face, WireExpr { mapping, ..expr });
        key.map_or(true, |key| self.chain.admits(kind, key.as_ke()))
    }

    /// The interest as it goes on: `None` if nothing of it does.
    fn interest<'m>(self, interest: &Interest<'m>) -> Option<Interest<'m>> {
        let kind = match interest.mode {
            InterestMode::Final => return Some(*interest),
            InterestMode::Current => MessageKind::LivelinessQuery,
            InterestMode::Future | InterestMode::CurrentFuture => {
                MessageKind::DeclareLivelinessSubscriber
            }
        };
        let admitted = match interest.wire_expr {
            _ if !interest.options.tokens => true,
            Some(expr) => self.admits(kind, expr),
            None => Ke::new("**").map_or(true, |all| self.chain.admits(kind, all)),
        };
        if admitted {
            return Some(*interest);
        }
        let options = InterestOptions { tokens: false, ..interest.options };
        (options.subscribers || options.queryables).then_some(Interest { options, ..*interest })
    }
}

/// What a declaration is about: its kind, its id, its key, and whether it is the end of it.
struct Declared<'m> {
    kind: Kind,
    id: u32,
    expr: Option<WireExpr<'m>>,
    ends: bool,
}

impl<'m> Declared<'m> {
    fn of(body: &Declaration<'m>) -> Option<Self> {
        let (kind, id, expr, ends) = match *body {
            Declaration::Subscriber { id, wire_expr } => {
                (Kind::Subscriber, id, Some(wire_expr), false)
            }
            Declaration::Queryable { id, wire_expr, .. } => {
                (Kind::Queryable, id, Some(wire_expr), false)
            }
            Declaration::Token { id, wire_expr } => (Kind::Token, id, Some(wire_expr), false),
            Declaration::UndeclareSubscriber { id, wire_expr } => {
                (Kind::Subscriber, id, wire_expr, true)
            }
            Declaration::UndeclareQueryable { id, wire_expr } => {
                (Kind::Queryable, id, wire_expr, true)
            }
            Declaration::UndeclareToken { id, wire_expr } => (Kind::Token, id, wire_expr, true),
            Declaration::KeyExpr { .. }
            | Declaration::UndeclareKeyExpr { .. }
            | Declaration::Final => return None,
        };
        Some(Self { kind, id, expr: expr.filter(|expr| !expr.is_empty()), ends })
    }

    const fn message_kind(&self) -> MessageKind {
        match self.kind {
            Kind::Subscriber => MessageKind::DeclareSubscriber,
            Kind::Queryable => MessageKind::DeclareQueryable,
            Kind::Token => MessageKind::LivelinessToken,
        }
    }

    /// The end of it without its key: it ends what is known by its id, and tells nothing else.
    const fn end_by_id(&self) -> Declaration<'static> {
        let (id, wire_expr) = (self.id, None);
        match self.kind {
            Kind::Subscriber => Declaration::UndeclareSubscriber { id, wire_expr },
            Kind::Queryable => Declaration::UndeclareQueryable { id, wire_expr },
            Kind::Token => Declaration::UndeclareToken { id, wire_expr },
        }
    }
}

impl Interception {
    /// Whether messages to this neighbour have to be looked at before they are sent.
    #[inline]
    pub(crate) fn holds(&self, face: FaceId) -> bool {
        self.guards.get(&face).is_some_and(|guard| {
            !guard.withheld.is_empty()
                || guard
                    .egress
                    .as_ref()
                    .is_some_and(|chain| CONTROL.iter().any(|it| chain.judges(*it)))
        })
    }
}

/// What is judged here.
const CONTROL: [MessageKind; 5] = [
    MessageKind::DeclareSubscriber,
    MessageKind::DeclareQueryable,
    MessageKind::LivelinessToken,
    MessageKind::LivelinessQuery,
    MessageKind::DeclareLivelinessSubscriber,
];

impl Node {
    fn judge(&self, face: FaceId, flow: Flow) -> Option<Judge<'_>> {
        let chain = self.interception.chain(face, flow)?;
        Some(Judge { routing: &self.routing, chain, face, flow })
    }

    /// A neighbour's declaration as routing hears of it.
    pub(crate) fn admit_declare<'m>(
        &self,
        face: FaceId,
        declare: &Declare<'m>,
    ) -> Option<Declare<'m>> {
        let Some(judge) = self.judge(face, Flow::Ingress) else { return Some(*declare) };
        let Some(declared) = Declared::of(&declare.body) else { return Some(*declare) };
        let admitted = declared.expr.is_none_or(|expr| judge.admits(declared.message_kind(), expr));
        match (admitted, declared.ends) {
            (true, _) => Some(*declare),
            (false, true) => Some(Declare { body: declared.end_by_id(), ..*declare }),
            (false, false) => None,
        }
    }

    /// A neighbour's interest as routing hears of it. If it does not, its answer is complete.
    pub(crate) fn admit_interest<'m>(
        &self,
        face: FaceId,
        interest: &Interest<'m>,
        ports: &mut dyn Ports,
    ) -> Option<Interest<'m>> {
        let Some(judge) = self.judge(face, Flow::Ingress) else { return Some(*interest) };
        let admitted = judge.interest(interest);
        if admitted.is_none() {
            ports.send(face, &NetworkMessage::Declare(end_of_answer(interest.id)));
        }
        admitted
    }

    /// Sends on what a call into routing had for neighbours with rules.
    pub(crate) fn send_held(&mut self, now_us: u64, held: Held, ports: &mut dyn Ports) {
        for (face, bytes) in held.0 {
            let message = NetworkMessage::decode(&mut Reader::new(&bytes));
            debug_assert!(message.is_ok(), "routing's own message");
            let Ok(message) = message else { continue };
            match message {
                NetworkMessage::Declare(declare) if !self.may_tell(face, &declare) => {}
                NetworkMessage::Interest(interest) => match self.may_ask(face, &interest) {
                    Some(interest) => ports.send(face, &NetworkMessage::Interest(interest)),
                    // As if the neighbour had nothing to tell.
                    None if interest.mode != InterestMode::Final => {
                        self.with_routing(now_us, ports, |routing, out| {
                            routing.handle_declare(now_us, face, &end_of_answer(interest.id), out)
                        });
                    }
                    None => {}
                },
                message => ports.send(face, &message),
            }
        }
    }

    fn may_tell(&mut self, face: FaceId, declare: &Declare<'_>) -> bool {
        let Some(declared) = Declared::of(&declare.body) else { return true };
        let withheld = Withheld::Declared(declared.kind, declared.id);
        let kind = declared.message_kind();
        let judge = self.judge(face, Flow::Egress);
        let admitted =
            declared.expr.is_none_or(|expr| judge.is_none_or(|judge| judge.admits(kind, expr)));
        let Some(guard) = self.interception.guards.get_mut(&face) else { return true };
        if guard.withheld.remove(&withheld) && declared.ends {
            return false;
        }
        // Nothing by the id 0 ever ends by it.
        if !admitted && !declared.ends && declared.id != 0 {
            guard.withheld.insert(withheld);
        }
        admitted
    }

    fn may_ask<'m>(&mut self, face: FaceId, interest: &Interest<'m>) -> Option<Interest<'m>> {
        let withheld = Withheld::Interest(interest.id);
        let admitted = match self.judge(face, Flow::Egress) {
            Some(judge) => judge.interest(interest),
            None => Some(*interest),
        };
        let guard = self.interception.guards.get_mut(&face)?;
        if guard.withheld.remove(&withheld) && interest.mode == InterestMode::Final {
            return None;
        }
        if admitted.is_none() && interest.mode.is_future() {
            guard.withheld.insert(withheld);
        }
        admitted
    }
}

/// All that there is to tell has been told.
const fn end_of_answer(interest: u32) -> Declare<'static> {
    Declare {
        interest_id: Some(interest),
        qos: Qos::DECLARE,
        timestamp: None,
        node_id: 0,
        body: Declaration::Final,
    }
}

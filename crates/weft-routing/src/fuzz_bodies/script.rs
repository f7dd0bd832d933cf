//! Bytes as a sequence of choices: which message comes next, about which key, from whom.
//!
//! Each choice takes one byte, so that a mutation changes one thing. Values come from small pools, so
//! that declarations meet their ends, and keys each other. The script ends with its bytes; choices
//! beyond are zero.

use alloc::string::String;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use weft_keyexpr::KeyExpr;
use weft_wire::{
    Declaration, Declare, Del, Encode, ErrReply, Interest, InterestMode, InterestOptions,
    LinkState, LinkStateList, Locator, Mapping, NetworkMessage, Oam, Push, PushBody, Put, Qos,
    Query, QueryTarget, QueryableInfo, Reply, Request, RequestBody, Response, ResponseBody,
    ResponseFinal, WhatAmI, WireExpr, ZenohId,
};

const CHUNKS: [&str; 16] = [
    "a", "b", "c", "*", "**", "$*a", "a$*", "$*b$*", "@v", "@w", "ab", "aab", "é", "", "0", "long",
];
const LOCATORS: [&str; 4] = ["tcp/a:1", "tcp/b:2", "udp/c:3", "tls/d:4#x=y"];
/// Ids of every kind are below this, or anything.
const IDS: u8 = 6;

/// The rest of the input.
#[derive(Clone, Debug)]
pub struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    /// A script of all bytes.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether nothing is left to happen.
    pub const fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        byte
    }

    /// A number below `count`, which is not zero.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    /// One of two.
    pub fn coin(&mut self) -> bool {
        self.byte() & 1 != 0
    }

    /// One of `items`, if there is any.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| items[self.below(items.len())])
    }

    /// Up to 63 bytes as they are.
    pub fn raw(&mut self) -> &'a [u8] {
        let len = self.below(64).min(self.0.len());
        let (raw, rest) = self.0.split_at(len);
        self.0 = rest;
        raw
    }

    /// An id that often is one that was used before.
    pub fn id(&mut self) -> u32 {
        match self.byte() {
            u8::MAX => u32::from_le_bytes([0; 4].map(|_: u8| self.byte())),
            byte => u32::from(byte % IDS),
        }
    }

    /// A mode.
    pub fn whatami(&mut self) -> WhatAmI {
        WhatAmI::ALL[self.below(3)]
    }

    /// Now and then a long time, up to for ever, in microseconds.
    pub fn duration_us(&mut self) -> u64 {
        match self.byte() {
            u8::MAX => u64::MAX,
            byte => u64::from(byte) * 100_000,
        }
    }

    /// One of a few identities.
    pub fn zid(&mut self) -> ZenohId {
        let byte = 1 + self.byte() % 8;
        ZenohId::from_le_bytes(&[byte]).expect("one byte that is not zero")
    }

    /// A key expression.
    pub fn key(&mut self) -> KeyExpr {
        KeyExpr::autocanonize(&self.text()).unwrap_or_else(|_| KeyExpr::new("a").expect("literal"))
    }

    /// Chunks with slashes between them: a key expression, or nearly.
    fn text(&mut self) -> String {
        let count = self.below(12);
        let mut text = String::from(CHUNKS[self.below(CHUNKS.len())]);
        for _ in 1..count {
            text.push('/');
            text.push_str(CHUNKS[self.below(CHUNKS.len())]);
        }
        text
    }

    fn scope(&mut self) -> (u16, Mapping) {
        let mapping = if self.coin() { Mapping::Sender } else { Mapping::Receiver };
        (self.id() as u16, mapping)
    }

    fn qos(&mut self) -> Qos {
        Qos::from_raw(self.byte())
    }

    /// Writes a message of any kind.
    pub fn message(&mut self, out: &mut Vec<u8>) {
        match self.below(9) {
            0..4 => self.declare(out),
            4 => self.interest(out),
            5 => self.link_states(out),
            6 => self.push(out),
            7 => self.request(out),
            _ => self.answer(out),
        }
    }

    /// Writes a declaration of any kind.
    pub fn declare(&mut self, out: &mut Vec<u8>) {
        let choice = self.byte();
        let (id, interest_id) = (self.id(), (choice & 0x40 != 0).then(|| self.id()));
        let mut text = String::new();
        let (mut scope, mut mapping) = (0, Mapping::Sender);
        if choice & 0x80 != 0 {
            (scope, mapping) = self.scope();
        }
        if choice & 0x20 == 0 {
            text = self.text();
        }
        if scope != 0 && !text.is_empty() {
            text.insert(0, '/');
        }
        let wire_expr = WireExpr { scope, mapping, suffix: &text };
        let body = match choice % 16 {
            0 | 1 => Declaration::KeyExpr { id: id as u16, wire_expr },
            2 => Declaration::UndeclareKeyExpr { id: id as u16 },
            3 | 4 => Declaration::Subscriber { id, wire_expr },
            5 | 6 => {
                let info =
                    QueryableInfo { complete: self.coin(), distance: u16::from(self.byte()) };
                Declaration::Queryable { id, wire_expr, info }
            }
            7..10 => Declaration::Token { id, wire_expr },
            10 => Declaration::UndeclareSubscriber { id, wire_expr: Some(wire_expr) },
            11 => Declaration::UndeclareQueryable { id, wire_expr: Some(wire_expr) },
            12 | 13 => Declaration::UndeclareToken { id, wire_expr: Some(wire_expr) },
            _ => Declaration::Final,
        };
        let declare = Declare { interest_id, ..Declare::new(body) };
        write(&NetworkMessage::Declare(declare), out);
    }

    /// Writes an interest, or the end of one.
    pub fn interest(&mut self, out: &mut Vec<u8>) {
        use InterestMode::{Current, CurrentFuture, Final, Future};
        let id = self.id();
        let mode = [Current, Future, CurrentFuture, Final][self.below(4)];
        if mode == Final {
            return write(&NetworkMessage::Interest(Interest::end(id)), out);
        }
        let bits = self.byte();
        let options = InterestOptions {
            key_exprs: bits & 1 != 0,
            subscribers: bits & 2 != 0,
            queryables: bits & 4 != 0,
            tokens: bits & 8 != 0,
            aggregate: bits & 16 != 0,
        };
        let text = if bits & 32 == 0 { Some(self.text()) } else { None };
        let wire_expr = text.as_deref().map(WireExpr::full);
        write(&NetworkMessage::Interest(Interest::new(id, mode, options, wire_expr)), out);
    }

    /// Writes what gossip says.
    pub fn link_states(&mut self, out: &mut Vec<u8>) {
        let mut states = Vec::new();
        for _ in 0..self.below(4) {
            let bits = self.byte();
            let locator = LOCATORS[self.below(LOCATORS.len())];
            let locator: Option<Locator> = locator.parse().ok();
            states.push(LinkState {
                psid: u64::from(self.byte() % IDS),
                sn: u64::from(self.byte()),
                zid: if bits & 1 == 0 { Some(self.zid()) } else { None },
                whatami: if bits & 2 == 0 { Some(self.whatami()) } else { None },
                locators: (bits & 4 == 0).then(|| locator.into_iter().collect()),
                links: if bits & 8 == 0 { Vec::new() } else { Vec::from([self.byte().into()]) },
                weights: None,
                gateway: bits & 16 != 0,
            });
        }
        let body = LinkStateList(states).to_vec();
        write(&NetworkMessage::Oam(Oam::link_states(&body)), out);
    }

    /// Writes a sample.
    fn push(&mut self, out: &mut Vec<u8>) {
        let bits = self.byte();
        let (mut scope, mut mapping) = (0, Mapping::Sender);
        if bits & 1 != 0 {
            (scope, mapping) = self.scope();
        }
        let text = if bits & 2 == 0 { self.text() } else { String::new() };
        let body = if bits & 4 == 0 {
            PushBody::Put(Put { payload: b"x", ..Put::default() })
        } else {
            PushBody::Del(Del::default())
        };
        let push = Push::new(WireExpr { scope, mapping, suffix: &text }, body);
        write(&NetworkMessage::Push(Push { qos: self.qos(), ..push }), out);
    }

    /// Writes a query.
    pub fn request(&mut self, out: &mut Vec<u8>) {
        let text = self.text();
        let body = RequestBody::Query(Query::default());
        let request = Request {
            target: self.target(),
            budget: NonZeroU32::new(u32::from(self.byte())),
            timeout_ms: self.coin().then(|| self.duration_us() / 1000),
            qos: self.qos(),
            ..Request::new(self.id(), WireExpr::full(&text), body)
        };
        write(&NetworkMessage::Request(request), out);
    }

    /// Which queryables a query wants.
    pub fn target(&mut self) -> QueryTarget {
        [QueryTarget::BestMatching, QueryTarget::All, QueryTarget::AllComplete][self.below(3)]
    }

    /// Writes a reply, an error, or the end of an answer.
    fn answer(&mut self, out: &mut Vec<u8>) {
        let (choice, id) = (self.below(4), self.id());
        let text = self.text();
        let reply = PushBody::Put(Put { payload: b"y", ..Put::default() });
        let message = match choice {
            0 => {
                let body = ResponseBody::Reply(Reply::new(reply));
                NetworkMessage::Response(Response::new(id, WireExpr::full(&text), body))
            }
            1 => NetworkMessage::Response(Response::err(id, ErrReply::default())),
            _ => NetworkMessage::ResponseFinal(ResponseFinal::new(id)),
        };
        write(&message, out);
    }
}

fn write(message: &NetworkMessage<'_>, out: &mut Vec<u8>) {
    message.encode(out).expect("a vector is never full");
}

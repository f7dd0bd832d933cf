//! Measuring the round trips to the other members of a network, for path computations that go by them.
//!
//! Not of the protocol: only nodes of this implementation are asked, and each answers whether or not it measures
//! itself. What counts is the shortest of the last few round trips: a queue on the way is not the way.
//!
//! ```text
//!  member                        neighbour
//!    | --- OAM PROBE: a number ----> |      once a second, and not while an answer is due
//!    | <-- OAM ECHO: the number ---- |
//! ```

use alloc::collections::BTreeMap;
use weft_wire::{NetworkMessage, Oam, OamBody, Qos};

use crate::face::FaceId;
use crate::outbox::Outbox;
use crate::routing::Routing;

/// OAM id of a question that is to be sent back: eight bytes.
pub const PROBE: u16 = 0x5704;
/// OAM id of the answer, with the bytes of the question.
pub const ECHO: u16 = 0x5705;

/// Neighbours are asked this often, in microseconds.
pub(crate) const PERIOD_US: u64 = 1_000_000;
/// An answer that takes longer is lost, in microseconds.
const LOST_US: u64 = 60_000_000;
/// Round trips of which the shortest counts.
const KEPT: usize = 4;

/// The questions to the members of networks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probing {
    /// When the next ones are due; `None` while nobody is asked.
    pub(crate) due_us: Option<u64>,
    asked: BTreeMap<FaceId, Asked>,
    /// The last question, to whomever. Answers to others are ignored.
    number: u64,
}

#[derive(Clone, Debug, Default)]
struct Asked {
    /// The number of the question whose answer is due, and when it was sent.
    open: Option<(u64, u64)>,
    /// The last round trips, in microseconds; 0 is none yet.
    round_trips_us: [u64; KEPT],
    count: usize,
}

impl Probing {
    pub(crate) fn forget(&mut self, face: FaceId) {
        self.asked.remove(&face);
    }
}

impl Routing {
    /// A neighbour has joined: it is asked soon, if anybody wants to know.
    pub(crate) fn probe_soon(&mut self, now_us: u64) {
        if self.config.computation.measures() {
            self.probing.due_us = Some(now_us);
        }
    }

    /// Asks all members of networks that are linked with this node, if that is due.
    pub(crate) fn probe(&mut self, now_us: u64, out: &mut dyn Outbox) {
        if self.probing.due_us.is_none_or(|due| now_us < due) {
            return;
        }
        let probing = &mut self.probing;
        let mut members = 0;
        for (id, _) in self.faces.iter().filter(|(_, face)| face.networked && face.mesh) {
            members += 1;
            let asked = probing.asked.entry(*id).or_default();
            if asked.open.is_some_and(|(_, at)| now_us < at.saturating_add(LOST_US)) {
                continue;
            }
            probing.number += 1;
            asked.open = Some((probing.number, now_us));
            send(*id, PROBE, probing.number.to_le_bytes(), out);
        }
        probing.due_us = (members > 0).then(|| now_us.saturating_add(PERIOD_US));
    }

    /// A neighbour asks, or answers.
    pub(crate) fn handle_probe(
        &mut self,
        now_us: u64,
        face: FaceId,
        (id, body): (u16, &[u8]),
        out: &mut dyn Outbox,
    ) {
        let Ok(number) = <[u8; 8]>::try_from(body) else { return };
        if !self.faces.get(&face).is_some_and(|it| it.networked && it.mesh) {
            return;
        }
        if id == PROBE {
            return send(face, ECHO, number, out);
        }
        let Some(asked) = self.probing.asked.get_mut(&face) else { return };
        let Some((open, at_us)) = asked.open else { return };
        if open != u64::from_le_bytes(number) {
            return;
        }
        asked.open = None;
        asked.round_trips_us[asked.count % KEPT] = now_us.saturating_sub(at_us).max(1);
        asked.count += 1;
        let shortest = asked.round_trips_us.iter().copied().filter(|it| *it > 0).min();
        if let Some(round_trip_us) = shortest {
            self.measured(now_us, face, round_trip_us, out);
        }
    }
}

fn send(face: FaceId, id: u16, body: [u8; 8], out: &mut dyn Outbox) {
    let message = Oam { id, qos: Qos::DECLARE, timestamp: None, body: OamBody::ZBuf(&body) };
    out.send(face, &NetworkMessage::Oam(message));
}

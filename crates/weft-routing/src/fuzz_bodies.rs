//! What the fuzz targets run: neighbours that say valid things in an absurd order, and what must
//! hold whatever they say.

mod script;
mod world;

pub use script::Script;

use crate::{FaceId, Kind};
use alloc::vec::Vec;
use weft_wire::{Decode, NetworkMessage, OamBody, Reader};
use world::World;

/// Neighbours come and go, declare, ask, gossip and answer; the session does the same and time
/// passes. After each step the engine keeps to its limits and its routes are those it would compute
/// anew; when everybody has left, nothing of them is.
pub fn routing(input: &[u8]) {
    let mut script = Script::new(input);
    let mut world = World::new(script.whatami(), script.coin());
    while !script.is_over() {
        step(&mut world, &mut script);
        world.check();
    }
    world.finish();
}

fn step(world: &mut World, script: &mut Script<'_>) {
    match script.below(24) {
        0 | 1 => world.arrive(script.whatami()),
        2 => {
            if let Some(face) = script.pick(&world.neighbours()) {
                world.depart(face);
            }
        }
        3..9 => said(world, script, Script::declare),
        9 | 10 => said(world, script, Script::interest),
        11 => said(world, script, Script::link_states),
        12 => said(world, script, |script, out| out.extend_from_slice(script.raw())),
        13 | 14 => declare(world, script),
        15 | 16 => interest(world, script),
        17 | 18 => query(world, script),
        19 => {
            let branch = script.pick(&world.branches()).unwrap_or((FaceId(1), 1));
            world.end_branch(branch);
        }
        20 => world.pass_time(script.duration_us()),
        21 | 22 => {
            let source = source(world, script);
            world.route(source, script.byte() as u16 % 8, &script.key());
        }
        _ => odds(world, script),
    }
}

/// A neighbour sends what `write` makes of the script.
fn said<'s>(world: &mut World, script: &mut Script<'s>, write: fn(&mut Script<'s>, &mut Vec<u8>)) {
    let Some(face) = script.pick(&world.neighbours()) else { return };
    let mut bytes = Vec::new();
    write(script, &mut bytes);
    let Ok(message) = NetworkMessage::decode(&mut Reader::new(&bytes)) else { return };
    let now_us = world.now_us;
    world.call(|routing, out| match message {
        NetworkMessage::Declare(declare) => {
            routing.handle_declare(now_us, face, &declare, out);
        }
        NetworkMessage::Interest(interest) => {
            routing.handle_interest(now_us, face, &interest, out);
        }
        NetworkMessage::Oam(oam) => {
            if let OamBody::ZBuf(body) = oam.body {
                routing.handle_oam(now_us, face, (oam.id, body), out);
            }
        }
        _ => {}
    });
}

/// The session declares or withdraws.
fn declare(world: &mut World, script: &mut Script<'_>) {
    let kind = Kind::ALL[script.below(Kind::COUNT)];
    let id = script.id();
    if script.coin() {
        world.declare(kind, id, &script.key(), script.coin());
    } else {
        world.undeclare(kind, id);
    }
}

/// The session wants to know, or no more.
fn interest(world: &mut World, script: &mut Script<'_>) {
    let id = script.id();
    if script.coin() {
        let kind = Kind::ALL[script.below(Kind::COUNT)];
        world.want(id, kind, &script.key(), script.byte());
    } else {
        world.want_no_more(id);
    }
}

fn query(world: &mut World, script: &mut Script<'_>) {
    let (source, id, key) = (source(world, script), script.id(), script.key());
    let (target, timeout_us, bits) = (script.target(), script.duration_us(), script.byte());
    world.query((source, id), &key, target, timeout_us, bits);
}

/// A neighbour or the session.
fn source(world: &World, script: &mut Script<'_>) -> FaceId {
    let mut faces = world.neighbours();
    faces.push(FaceId::LOCAL);
    script.pick(&faces).unwrap_or(FaceId::LOCAL)
}

/// What happens rarely.
fn odds(world: &mut World, script: &mut Script<'_>) {
    match script.below(4) {
        0 => {
            let key = script.key();
            world.call(|routing, out| routing.name_key(&key, out));
        }
        1 => {
            let key = script.key();
            world.call(|routing, _| routing.invalidate(&key));
        }
        2 => world.cancel(script.id()),
        _ => {
            let key = script.key();
            world.call(|routing, _| {
                for kind in Kind::ALL {
                    let any = routing.has_remote_match(kind, &key, false);
                    assert!(any || !routing.has_remote_match(kind, &key, true));
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    /// Bytes that a fuzzer might try; without its feedback, but many.
    fn random(seed: u64, len: usize) -> Vec<u8> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut byte = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        };
        (0..len).map(|_| byte()).collect()
    }

    #[test]
    fn the_body_holds_for_random_input() {
        routing(b"");
        for seed in 0..2_000 {
            routing(&random(seed, 600));
        }
    }

    #[test]
    fn a_script_writes_messages_that_can_be_read() {
        let mut kinds = BTreeSet::new();
        for seed in 0..200 {
            let bytes = random(seed, 200);
            let mut script = Script::new(&bytes);
            while !script.is_over() {
                let mut message = Vec::new();
                script.message(&mut message);
                NetworkMessage::decode(&mut Reader::new(&message)).unwrap();
                kinds.insert(message[0] & 0x1f);
            }
        }
        assert_eq!(kinds.into_iter().collect::<Vec<_>>(), (0x19..=0x1f).collect::<Vec<_>>());
    }
}

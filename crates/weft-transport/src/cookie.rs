//! The cookie: what the responder would otherwise have to remember between INIT and OPEN.
//!
//! Not here: how old a cookie may be, and what is in it (`handshake`). Spec: 01 §4.2: the content is
//! private to the responder.
//!
//! ```text
//! | tag: 16 bytes | issued_us: u64 LE | INIT Syn as agreed |
//!                  \______________ content _______________/
//! tag = SipHash-2-4-128 under the node's key of: peer_tag.len(): u64 LE, peer_tag, content
//! ```
//! Content is authentic, not secret: the initiator knows all of it.

use crate::handshake::HandshakeError;
use crate::siphash::{siphash128, tags_equal};
use alloc::vec::Vec;
use core::fmt;
use weft_wire::{Decode, Encode, InitSyn, Reader, TransportMessage};

/// The secret under which a node signs its cookies: 16 random bytes, drawn at every start.
#[derive(Clone, PartialEq, Eq)]
pub struct CookieKey([u8; 16]);

impl CookieKey {
    /// A key of bytes that no one can guess.
    #[must_use]
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for CookieKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CookieKey(…)")
    }
}

const TAG_LEN: usize = 16;
const TIME_LEN: usize = 8;

/// A cookie that binds `agreed` to the time and to the peer.
pub(crate) fn seal(
    key: &CookieKey,
    peer_tag: &[u8],
    issued_us: u64,
    agreed: &InitSyn<'_>,
) -> Vec<u8> {
    let mut cookie = Vec::new();
    cookie.extend_from_slice(&[0; TAG_LEN]);
    cookie.extend_from_slice(&issued_us.to_le_bytes());
    agreed.encode(&mut cookie).expect("a vector is never full");
    let tag = sign(key, peer_tag, &cookie[TAG_LEN..]);
    cookie[..TAG_LEN].copy_from_slice(&tag);
    cookie
}

/// What is in a cookie of this node for this peer, and when it was issued.
pub(crate) fn open<'a>(
    key: &CookieKey,
    peer_tag: &[u8],
    cookie: &'a [u8],
) -> Result<(InitSyn<'a>, u64), HandshakeError> {
    let (tag, content) = cookie.split_first_chunk().ok_or(HandshakeError::CookieForged)?;
    if !tags_equal(tag, &sign(key, peer_tag, content)) {
        return Err(HandshakeError::CookieForged);
    }
    let (issued, agreed) =
        content.split_first_chunk::<TIME_LEN>().ok_or(HandshakeError::CookieForged)?;
    match TransportMessage::decode(&mut Reader::new(agreed))? {
        TransportMessage::InitSyn(agreed) => Ok((agreed, u64::from_le_bytes(*issued))),
        _ => Err(HandshakeError::CookieForged),
    }
}

fn sign(key: &CookieKey, peer_tag: &[u8], content: &[u8]) -> [u8; TAG_LEN] {
    let mut message = Vec::with_capacity(TIME_LEN + peer_tag.len() + content.len());
    message.extend_from_slice(&(peer_tag.len() as u64).to_le_bytes());
    message.extend_from_slice(peer_tag);
    message.extend_from_slice(content);
    siphash128(&key.0, &message)
}

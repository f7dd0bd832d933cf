//! SCOUT and HELLO: the discovery question and its answer.
//!
//! Not here: when to ask and whom to answer (`weft-node`). Spec: 01 §2.2, §2.3.
//!
//! ```text
//! |Z|_|_|  SCOUT  |         |Z|_|L|  HELLO  |
//! |    version    |         |    version    |
//! |zidlen-1|I|what|         |zidlen-1|_|wai |
//! ~      zid      ~ if I    ~      zid      ~
//! ~  extensions   ~ if Z    % locator count %   if L: then each <utf8;z8>
//!                           ~  extensions   ~   if Z
//! ```
//!
//! All extensions are skipped, mandatory ones included. Whatever follows the message in its datagram is left
//! in the reader, to be ignored.

use alloc::vec::Vec;

use crate::{
    Decode, DecodeError, Encode, Locator, NoSpace, Reader, Sink, WhatAmI, WhatAmIMatcher, ZenohId,
    ext,
    locator::{decode_locators, encode_locators},
    network::ID_MASK,
    sender::Sender,
};

const SCOUT: u8 = 0x01;
const HELLO: u8 = 0x02;

/// Flag of SCOUT's second byte: a zid follows.
const I: u8 = 0x08;
/// Header flag of HELLO: locators follow.
const L: u8 = 0x20;

/// The discovery question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scout {
    /// The sender's protocol version. Not checked by the decoder, nor by answering nodes.
    pub version: u8,
    /// Which modes are to answer.
    pub what: WhatAmIMatcher,
    /// The sender, if it tells.
    pub zid: Option<ZenohId>,
}

impl Scout {
    fn decode(header: u8, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let version = r.byte("version")?;
        let flags = r.byte("zid length and modes")?;
        let what = WhatAmIMatcher::from_bits_truncated(flags);
        let zid = match flags & I {
            0 => None,
            _ => Some(ZenohId::decode_by_nibble(flags, r)?),
        };
        ext::skip_chain(header, r)?;
        Ok(Self { version, what, zid })
    }
}

impl Encode for Scout {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        sink.byte(SCOUT)?;
        sink.byte(self.version)?;
        let Some(zid) = &self.zid else {
            return sink.byte(self.what.bits());
        };
        sink.byte(zid.len_nibble() | I | self.what.bits())?;
        sink.bytes(zid.as_le_slice())
    }
}

/// The answer to a [`Scout`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The sender's protocol version. Not checked by the decoder.
    pub version: u8,
    /// The sender's mode.
    pub whatami: WhatAmI,
    /// The sender.
    pub zid: ZenohId,
    /// Where it can be reached; at most [`Locator::COUNT_MAX`].
    pub locators: Vec<Locator>,
}

impl Hello {
    fn decode(header: u8, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let Sender { version, whatami, zid } = Sender::decode(r)?;
        let locators = match header & L {
            0 => Vec::new(),
            _ => decode_locators(r)?,
        };
        ext::skip_chain(header, r)?;
        Ok(Self { version, whatami, zid, locators })
    }
}

impl Encode for Hello {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        sink.byte(HELLO | if self.locators.is_empty() { 0 } else { L })?;
        let sender = Sender { version: self.version, whatami: self.whatami, zid: self.zid };
        sender.encode(sink)?;
        if self.locators.is_empty() {
            return Ok(());
        }
        encode_locators(&self.locators, sink)
    }
}

/// Any scouting message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScoutingMessage {
    /// The question.
    Scout(Scout),
    /// The answer.
    Hello(Hello),
}

impl<'a> Decode<'a> for ScoutingMessage {
    fn decode(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let offset = r.pos();
        let header = r.byte("scouting header")?;
        match header & ID_MASK {
            SCOUT => Ok(Self::Scout(Scout::decode(header, r)?)),
            HELLO => Ok(Self::Hello(Hello::decode(header, r)?)),
            id => Err(DecodeError::UnknownMessage { id, offset }),
        }
    }
}

impl Encode for ScoutingMessage {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        match self {
            Self::Scout(scout) => scout.encode(sink),
            Self::Hello(hello) => hello.encode(sink),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        VERSION,
        testing::{decoded, encoded},
    };

    fn hello(locators: &[&str]) -> Hello {
        let locators = locators.iter().map(|text| text.parse().unwrap()).collect();
        let zid = "77".parse().unwrap();
        Hello { version: VERSION, whatami: WhatAmI::Peer, zid, locators }
    }

    #[test]
    fn a_scout_may_tell_who_asks() {
        let zid = Some("7788".parse().unwrap());
        let scout = Scout { version: VERSION, what: WhatAmIMatcher::ALL, zid };
        assert_eq!(encoded(&scout), b"\x01\x09\x1f\x88\x77");
        assert_eq!(decoded(b"\x01\x09\x1f\x88\x77"), Ok(ScoutingMessage::Scout(scout)));
        let nobody = Scout { what: WhatAmIMatcher::EMPTY, zid: None, ..scout };
        assert_eq!(decoded(b"\x01\x09\x00"), Ok(ScoutingMessage::Scout(nobody)));
        // The length means nothing without the flag.
        assert_eq!(decoded(b"\x01\x09\xf0"), Ok(ScoutingMessage::Scout(nobody)));
    }

    #[test]
    fn a_hello_may_have_no_locators() {
        assert_eq!(encoded(&hello(&[])), b"\x02\x09\x01\x77");
        assert_eq!(decoded(b"\x02\x09\x01\x77"), Ok(ScoutingMessage::Hello(hello(&[]))));
        assert_eq!(decoded(b"\x22\x09\x01\x77\x00"), Ok(ScoutingMessage::Hello(hello(&[]))));
        let two = hello(&["tcp/[::1]:7447", "udp/h:1?rel=0"]);
        let bytes = b"\x22\x09\x01\x77\x02\x0etcp/[::1]:7447\x0dudp/h:1?rel=0";
        assert_eq!(encoded(&two), bytes);
        assert_eq!(decoded(bytes), Ok(ScoutingMessage::Hello(two)));
    }

    #[test]
    fn a_bad_locator_spoils_the_whole_hello() {
        let invalid = Err(DecodeError::InvalidLocator { offset: 6 });
        assert_eq!(decoded::<ScoutingMessage>(b"\x22\x09\x01\x77\x01\x07tcp/a#b"), invalid);
        assert_eq!(decoded::<ScoutingMessage>(b"\x22\x09\x01\x77\x01\x03tcp"), invalid);
        let not_utf8 = DecodeError::NotUtf8 { field: "locator", offset: 6 };
        assert_eq!(decoded::<ScoutingMessage>(b"\x22\x09\x01\x77\x01\x01\xff"), Err(not_utf8));
        let long = [b"\x22\x09\x01\x77\x01\x80\x02tcp/".as_slice(), &[b'a'; 252]].concat();
        let too_long = DecodeError::OutOfRange { field: "locator", offset: 5 };
        assert_eq!(decoded::<ScoutingMessage>(&long), Err(too_long));
    }

    #[test]
    fn the_number_of_locators_is_limited() {
        let with = |count: usize| {
            let locators = std::vec!["tcp/a"; count];
            decoded::<ScoutingMessage>(&encoded(&hello(&locators))).map(|_| ())
        };
        assert_eq!(with(Locator::COUNT_MAX), Ok(()));
        let too_many = DecodeError::OutOfRange { field: "locator count", offset: 4 };
        assert_eq!(with(Locator::COUNT_MAX + 1), Err(too_many));
    }

    #[test]
    fn all_extensions_are_skipped() {
        let mandatory = b"\xa2\x09\x01\x77\x00\xdf\x01x\x31\x05";
        assert_eq!(decoded(mandatory), Ok(ScoutingMessage::Hello(hello(&[]))));
        assert!(decoded::<ScoutingMessage>(b"\x81\x09\x07\x1f").is_ok());
        let reserved = DecodeError::ReservedEncoding { offset: 3 };
        assert_eq!(decoded::<ScoutingMessage>(b"\x81\x09\x07\x6f"), Err(reserved));
    }

    #[test]
    fn other_messages_are_refused_and_trailing_bytes_left() {
        let unknown = DecodeError::UnknownMessage { id: 3, offset: 0 };
        assert_eq!(decoded::<ScoutingMessage>(b"\x03\x09\x07"), Err(unknown));
        let mut r = Reader::new(b"\x01\x09\x07rest");
        let scout = ScoutingMessage::decode(&mut r).unwrap();
        assert_eq!((r.rest(), encoded(&scout)), (&b"rest"[..], b"\x01\x09\x07".to_vec()));
    }
}

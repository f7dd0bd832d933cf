//! Link states: what routers and peers tell each other about the network, in the body of an OAM message.
//!
//! Not here: the graph they form and who is told what (`weft-routing`). Spec: 03 §2.2.
//!
//! ```text
//! list  = count, states
//! state = options, psid, sn
//!         [zid] [mode mask] [locator count, locators]   as options say
//!         link count, psids
//!         [one weight per link]                         as options say
//! ```

use alloc::vec::Vec;

use crate::{
    Decode, DecodeError, Encode, Locator, NoSpace, Reader, Sink, WhatAmI, ZenohId,
    locator::{decode_locators, encode_locators},
};

/// OAM id of link states.
pub const LINKSTATE: u16 = 0x0001;

/// Most states in a list.
pub const STATES_MAX: usize = 65_536;
/// Most links in a state.
pub const LINKS_MAX: usize = 65_536;
/// Greatest psid: it also has to fit the node id of messages.
pub const PSID_MAX: u64 = u16::MAX as u64;

const ZID: u64 = 0x01;
const WHATAMI: u64 = 0x02;
const LOCATORS: u64 = 0x04;
const WEIGHTS: u64 = 0x08;
const GATEWAY: u64 = 0x10;

/// What one node of the network looks like to the sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkState {
    /// The node, in the sender's numbering; at most [`PSID_MAX`].
    pub psid: u64,
    /// Sequence number of this state of the node.
    pub sn: u64,
    /// The node's identity, when `psid` is to be bound to it.
    pub zid: Option<ZenohId>,
    /// The node's mode; absent means router.
    pub whatami: Option<WhatAmI>,
    /// Where the node can be reached; at most [`Locator::COUNT_MAX`].
    pub locators: Option<Vec<Locator>>,
    /// The node's neighbours as psids, in the sender's numbering; at most [`LINKS_MAX`].
    pub links: Vec<u64>,
    /// The weight of each link; 0 is not configured. Missing ones are written as 0, surplus ones not at all.
    pub weights: Option<Vec<u16>>,
    /// The node is a gateway of the region.
    pub gateway: bool,
}

impl LinkState {
    fn options(&self) -> u64 {
        [
            (self.zid.is_some(), ZID),
            (self.whatami.is_some(), WHATAMI),
            (self.locators.is_some(), LOCATORS),
            (self.weights.is_some(), WEIGHTS),
            (self.gateway, GATEWAY),
        ]
        .into_iter()
        .fold(0, |options, (set, bit)| if set { options | bit } else { options })
    }
}

impl<'a> Decode<'a> for LinkState {
    fn decode(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let options = r.zint("link state options")?;
        let psid = r.zint_max(PSID_MAX, "psid")?;
        let sn = r.zint("link state sn")?;
        let has = |bit| options & bit != 0;
        let zid = if has(ZID) { Some(ZenohId::decode_with_len(r)?) } else { None };
        let whatami = if has(WHATAMI) { Some(decode_whatami(r)?) } else { None };
        let locators = if has(LOCATORS) { Some(decode_locators(r)?) } else { None };
        let links = r.many(LINKS_MAX, "link count", |r| r.zint("link"))?;
        let weights = if has(WEIGHTS) { Some(decode_weights(links.len(), r)?) } else { None };
        Ok(Self { psid, sn, zid, whatami, locators, links, weights, gateway: has(GATEWAY) })
    }
}

impl Encode for LinkState {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        sink.zint(self.options())?;
        sink.zint(self.psid)?;
        sink.zint(self.sn)?;
        if let Some(zid) = &self.zid {
            zid.encode_with_len(sink)?;
        }
        if let Some(whatami) = self.whatami {
            sink.byte(whatami.mask())?;
        }
        if let Some(locators) = &self.locators {
            encode_locators(locators, sink)?;
        }
        sink.zint(self.links.len() as u64)?;
        self.links.iter().try_for_each(|&link| sink.zint(link))?;
        if let Some(weights) = &self.weights {
            let weights = weights.iter().copied().chain(core::iter::repeat(0));
            weights.take(self.links.len()).try_for_each(|weight| sink.zint(u64::from(weight)))?;
        }
        Ok(())
    }
}

/// The body of an OAM message with id [`LINKSTATE`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkStateList(pub Vec<LinkState>);

impl LinkStateList {
    /// The wire form, for [`Oam::link_states`](crate::Oam::link_states).
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.encode(&mut bytes) {
            Ok(()) => bytes,
            Err(NoSpace) => unreachable!("a vector has room for everything"),
        }
    }
}

impl<'a> Decode<'a> for LinkStateList {
    fn decode(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        r.many(STATES_MAX, "link state count", LinkState::decode).map(Self)
    }
}

impl Encode for LinkStateList {
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        sink.zint(self.0.len() as u64)?;
        self.0.iter().try_for_each(|state| state.encode(sink))
    }
}

fn decode_whatami(r: &mut Reader<'_>) -> Result<WhatAmI, DecodeError> {
    let offset = r.pos();
    let mask = r.byte("mode")?;
    WhatAmI::from_mask(mask).ok_or(DecodeError::OutOfRange { field: "mode", offset })
}

fn decode_weights(count: usize, r: &mut Reader<'_>) -> Result<Vec<u16>, DecodeError> {
    (0..count).map(|_| r.zint_u16("link weight")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{decoded, encoded};

    #[test]
    fn every_option_round_trips() {
        let state = LinkState {
            psid: 300,
            sn: 7,
            zid: Some("a1".parse().unwrap()),
            whatami: Some(WhatAmI::Client),
            locators: Some(std::vec!["tcp/a".parse().unwrap()]),
            links: std::vec![1, 2],
            weights: Some(std::vec![0, 300]),
            gateway: true,
        };
        let bytes = b"\x1f\xac\x02\x07\x01\xa1\x04\x01\x05tcp/a\x02\x01\x02\x00\xac\x02";
        assert_eq!(encoded(&state), bytes);
        assert_eq!(decoded(bytes), Ok(state.clone()));
        let list = LinkStateList(std::vec![state, LinkState::default()]);
        assert_eq!(decoded(&list.to_vec()), Ok(list));
    }

    #[test]
    fn there_is_one_weight_per_link() {
        let with = |weights: &[u16]| {
            let weights = Some(weights.to_vec());
            encoded(&LinkState { links: std::vec![1, 2], weights, ..LinkState::default() })
        };
        assert_eq!(with(&[5]), b"\x08\x00\x00\x02\x01\x02\x05\x00");
        assert_eq!(with(&[5, 6, 7]), b"\x08\x00\x00\x02\x01\x02\x05\x06");
    }

    #[test]
    fn limits_are_enforced_where_they_are_exceeded() {
        let out_of_range = |field, offset| DecodeError::OutOfRange { field, offset };
        // 65,537 states, a psid of 65,536, 65,537 links, a weight of 65,536.
        let states = decoded::<LinkStateList>(b"\x81\x80\x04");
        assert_eq!(states.unwrap_err(), out_of_range("link state count", 0));
        let psid = decoded::<LinkState>(b"\x00\x80\x80\x04\x00\x00");
        assert_eq!(psid.unwrap_err(), out_of_range("psid", 1));
        let links = decoded::<LinkState>(b"\x00\x00\x00\x81\x80\x04");
        assert_eq!(links.unwrap_err(), out_of_range("link count", 3));
        let weight = decoded::<LinkState>(b"\x08\x00\x00\x01\x01\x80\x80\x04");
        assert_eq!(weight.unwrap_err(), out_of_range("link weight", 5));
        let mode = decoded::<LinkState>(b"\x02\x00\x00\x03\x00");
        assert_eq!(mode.unwrap_err(), out_of_range("mode", 3));
    }

    #[test]
    fn announced_counts_reserve_nothing() {
        let truncated = |field, offset| DecodeError::Truncated { field, offset };
        let states = decoded::<LinkStateList>(b"\x80\x80\x04");
        assert_eq!(states.unwrap_err(), truncated("link state options", 3));
        let links = decoded::<LinkState>(b"\x00\x00\x00\x80\x80\x04\x01");
        assert_eq!(links.unwrap_err(), truncated("link", 7));
    }

    #[test]
    fn identities_in_states_are_checked() {
        let zero = decoded::<LinkState>(b"\x01\x00\x00\x01\x00\x00");
        assert_eq!(zero, Err(DecodeError::InvalidZid { offset: 4 }));
        let locator = decoded::<LinkState>(b"\x04\x00\x00\x01\x01x\x00");
        assert_eq!(locator, Err(DecodeError::InvalidLocator { offset: 5 }));
    }
}

//! Random and damaged input goes through the fuzz bodies: it never panics, and what decodes keeps its meaning.

use std::string::ToString;

use proptest::{collection::vec, prelude::*, sample::Index};

use crate::{Decode, Endpoint, LinkStateList, NetworkMessage, Reader, TransportMessage};

/// A well-formed message of each kind that the headers select, to be damaged.
const SEEDS: [&[u8]; 12] = [
    b"\xfd\x00\x08demo/s/a\xa1\x19\xc2\x03\x05\x01\xa1\xb3\x04\x47\x01\x01\xe1\
        \x05\x01\xa1\x0b\x03sch\xc1\x04\x00\x77\x06\x07\xc9\x01z\x43\x01A\x02hi",
    b"\xfc\x02\x00\x01a\xa1\x0d\xb4\x01\xa6\xc4\x13\x33\x02\xe3\x01\x07two;x=1\xc3\x03\x08pl\xaa\x05\x45\x02qa",
    b"\xfb\x01\x00\x01a\xa1\x0d\x43\x04\x10\x02\xcc\x08\x04\xc1\x08\x43\x02ra\x01\x31",
    b"\xdb\x05\x00\xa1\x0d\x43\x04\x10\x02\xcc\x08\x45\x08\x03bad",
    b"\xbe\x02\x21\x08\xe4\x03\x00\x01a\x21\x01",
    b"\x9e\x21\x08\x87\x00\x5f\x08\x03\x00lt/old",
    b"\xf9\x06\x79\x06\x03/**\x21\x08",
    b"\xdf\x01\x21\x08\x05hello",
    b"\xe1\x09\xf0\x90\x8f\x7e\x6d\x5c\x4b\x3a\x29\x18\x07\xf6\xe5\xd4\xc3\xb2\xa1\
        \x0a\x00\xc0\x03abc\x81\xa7\x01\x48\x01r",
    b"\x82\x0a\x07\x03abc\x43\x01a",
    b"\xa7\x09\x01\x77\x0a\x01\x02\xd1\x10\x00\x00\x01\x01\x02\x02\x03\x03\x04\x04\x05\x05\x06\x06\x07\x07\x27\x01",
    b"\x02\x1f\x00\x02\x01\xa1\x01\x01\x05tcp/a\x01\x01\x07\x03\x01\x00\x01\xb2\x02\x00",
];

fn run_all(bytes: &[u8]) {
    super::network(bytes);
    super::transport(bytes);
    super::scouting(bytes);
    super::linkstate(bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn random_bytes(bytes in vec(any::<u8>(), 0..96)) {
        run_all(&bytes);
    }

    #[test]
    fn damaged_messages(
        seed in any::<Index>(),
        damage in vec((any::<Index>(), any::<u8>()), 0..4),
        cut in any::<Index>(),
    ) {
        let mut bytes = seed.get(&SEEDS).to_vec();
        for (index, value) in damage {
            let index = index.index(bytes.len());
            bytes[index] = value;
        }
        // Mostly whole: a cut message is nearly always refused early.
        bytes.truncate(bytes.len() - cut.index(2 * bytes.len()).saturating_sub(bytes.len()));
        run_all(&bytes);
    }

    #[test]
    fn random_text_is_a_locator_only_in_canonical_form(text in "[a-c/?#;=]{0,24}") {
        if let Ok(endpoint) = text.parse::<Endpoint>() {
            let canonical = endpoint.to_string();
            prop_assert_eq!(canonical.parse(), Ok(endpoint));
        }
    }
}

#[test]
fn the_seeds_are_well_formed() {
    for seed in SEEDS {
        let accepted = [
            whole::<NetworkMessage<'_>>(seed),
            whole::<TransportMessage<'_>>(seed),
            whole::<LinkStateList>(seed),
        ];
        assert!(accepted.contains(&true), "{seed:x?}");
    }
}

/// True if all of `bytes` is one message.
fn whole<'a, M: Decode<'a>>(bytes: &'a [u8]) -> bool {
    let mut r = Reader::new(bytes);
    M::decode(&mut r).is_ok() && r.is_empty()
}

//! The links of a whole node bring arbitrary bytes, before and after a handshake.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_node::fuzz_bodies::node_raw(input));

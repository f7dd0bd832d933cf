//! Decodes a link-state list, encodes what came out, and compares.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_wire::fuzz_bodies::linkstate(input));

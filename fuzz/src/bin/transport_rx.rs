//! The receiving half of an open transport reads a stream that an attacker wrote.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_transport::fuzz_bodies::rx(input));

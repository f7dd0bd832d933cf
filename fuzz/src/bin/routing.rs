//! Neighbours say valid things to the routing engine in an absurd order.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_routing::fuzz_bodies::routing(input));

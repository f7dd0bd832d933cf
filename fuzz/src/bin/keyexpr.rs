//! Parses and relates key expressions, selectors and time ranges.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_keyexpr::fuzz_bodies::fuzz(input));

//! One key expression against another. Targets of 04 §6: two 50-byte literals below 25 ns,
//! validation below 50 ns.

use divan::{Bencher, black_box};
use weft_keyexpr::{Ke, KeyExpr};

fn main() {
    divan::main();
}

/// 50 bytes, five chunks.
const LITERAL: &str = "factory/hall-0001/line-0042/sensor-17/temperature1";

const VALIDATED: [&str; 3] = [
    LITERAL,
    "factory/*/line-0042/**/temperature1-and-humidity-1",
    "factory/ha$*1/line-$*/sensor-$*7/temperature$*-xyz",
];

#[divan::bench(args = VALIDATED)]
fn validate_50_bytes(bencher: Bencher<'_, '_>, text: &str) {
    assert_eq!(text.len(), 50);
    bencher.bench_local(|| Ke::new(black_box(text)).is_ok());
}

#[divan::bench(args = ["factory/**/**/temperature", "factory/$*$*/line/$*"])]
fn autocanonize(bencher: Bencher<'_, '_>, text: &str) {
    bencher.bench_local(|| KeyExpr::autocanonize(black_box(text)));
}

const PAIRS: [(&str, &str); 9] = [
    (LITERAL, "factory/hall-0001/line-0042/sensor-17/temperature1"),
    (LITERAL, "factory/hall-0001/line-0042/sensor-17/temperature2"),
    (LITERAL, "factory/hall-0002/line-0042/sensor-17/temperature1"),
    (LITERAL, "factory/hall-0001/line-0042/sensor-17/*"),
    (LITERAL, "factory/**"),
    (LITERAL, "**/temperature1"),
    (LITERAL, "factory/*/line-$*/**/temperature1"),
    ("factory/**/sensor-17/**", "factory/hall-0001/**/temperature1"),
    ("@/*/router/**", "@/1234/router/config/plugins"),
];

#[divan::bench(args = PAIRS.map(Pair))]
fn intersects(bencher: Bencher<'_, '_>, Pair((a, b)): Pair) {
    let (a, b) = (Ke::new(a).unwrap(), Ke::new(b).unwrap());
    bencher.bench_local(|| black_box(a).intersects(black_box(b)));
}

#[divan::bench(args = PAIRS.map(Pair))]
fn includes(bencher: Bencher<'_, '_>, Pair((b, a)): Pair) {
    let (a, b) = (Ke::new(a).unwrap(), Ke::new(b).unwrap());
    bencher.bench_local(|| black_box(a).includes(black_box(b)));
}

#[derive(Clone, Copy)]
struct Pair((&'static str, &'static str));

impl std::fmt::Display for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ~ {}", self.0.0, self.0.1)
    }
}

/// Names the case by the part that differs from the others.
impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

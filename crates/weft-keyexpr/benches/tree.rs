//! One question against many entries. Target of 04 §6: 100,000 entries of five chunks, 1 % of them
//! with wildcards: a literal question below 2 µs (median).

use divan::{Bencher, black_box};
use std::sync::OnceLock;
use weft_keyexpr::{Ke, KeTree, KeyExpr};

fn main() {
    divan::main();
}

const COUNTS: [usize; 2] = [100_000, 1_000_000];

/// The literal key of entry `n`: five chunks, with a branching of 10, 10, 10, 10 and the rest.
fn literal(n: usize) -> String {
    format!(
        "site-{}/hall-{}/line-{}/cell-{}/sensor-{n}",
        n % 10,
        n / 10 % 10,
        n / 100 % 10,
        n / 1000 % 10
    )
}

/// Every hundredth entry has a wildcard, each kind in turn.
fn entry(n: usize) -> KeyExpr {
    let text = match (n % 100, n / 100 % 5) {
        (99, 0) => format!("site-{}/*/line-{}/cell-1/sensor-{n}", n % 10, n / 1000 % 10),
        (99, 1) => format!("site-{}/**/sensor-{n}", n / 10 % 10),
        (99, 2) => format!("site-1/hall-{}/line-2/cell-{}/se$*-{n}", n / 10 % 10, n / 1000 % 10),
        (99, 3) => format!("*/hall-{}/**/{n}/**", n / 1000 % 10),
        (99, _) => format!("site-3/*/*/cell-{}/sensor-{n}", n / 1000 % 10),
        _ => literal(n),
    };
    KeyExpr::new(text).unwrap()
}

/// The same tree for all benches of one size.
fn tree(count: usize) -> &'static KeTree<usize> {
    static TREES: [OnceLock<KeTree<usize>>; 2] = [OnceLock::new(), OnceLock::new()];
    let index = COUNTS.iter().position(|&known| known == count).unwrap();
    TREES[index].get_or_init(|| build(&(0..count).map(entry).collect::<Vec<_>>()))
}

fn build(entries: &[KeyExpr]) -> KeTree<usize> {
    let mut tree = KeTree::new();
    for (n, entry) in entries.iter().enumerate() {
        assert_eq!(tree.insert(entry, n), None);
    }
    tree
}

/// Questions all over the tree, in an order that caches cannot foresee.
fn questions(count: usize) -> impl Iterator<Item = KeyExpr> {
    let questions: Vec<KeyExpr> =
        (0..4096_usize).map(|n| KeyExpr::new(literal(n * 7_919_317 % count)).unwrap()).collect();
    questions.into_iter().cycle()
}

fn count_intersecting(tree: &KeTree<usize>, key: Ke<'_>) -> usize {
    let mut found = 0;
    tree.for_each_intersecting(key, |_, _| found += 1);
    found
}

#[divan::bench(args = COUNTS, sample_count = 1000, sample_size = 16)]
fn literal_intersecting(bencher: Bencher<'_, '_>, count: usize) {
    let (tree, mut questions) = (tree(count), questions(count));
    bencher
        .with_inputs(|| questions.next().unwrap())
        .bench_local_refs(|key| count_intersecting(tree, black_box(key.as_ke())));
}

#[divan::bench(args = COUNTS, sample_count = 1000, sample_size = 16)]
fn literal_exact(bencher: Bencher<'_, '_>, count: usize) {
    let (tree, mut questions) = (tree(count), questions(count));
    bencher
        .with_inputs(|| questions.next().unwrap())
        .bench_local_refs(|key| tree.get(black_box(key.as_ke())).copied());
}

#[divan::bench(args = COUNTS, sample_count = 100, sample_size = 1)]
fn wild_intersecting(bencher: Bencher<'_, '_>, count: usize) {
    let tree = tree(count);
    let key = Ke::new("site-1/*/line-2/cell-3/*").unwrap();
    bencher.bench_local(|| count_intersecting(tree, black_box(key)));
}

#[divan::bench(args = COUNTS, sample_count = 3, sample_size = 1)]
fn build_all(bencher: Bencher<'_, '_>, count: usize) {
    let entries: Vec<KeyExpr> = (0..count).map(entry).collect();
    bencher.bench_local(|| build(black_box(&entries)).len());
}

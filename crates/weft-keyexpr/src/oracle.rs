//! The definitions of 04 §5, written as dynamic programs over all pairs of positions: slow, and
//! independent of the algorithms that they check.

use alloc::vec;
use alloc::vec::Vec;

/// 04 §5.1.
pub(crate) fn intersects(a: &str, b: &str) -> bool {
    let (a, b): (Vec<_>, Vec<_>) = (a.split('/').collect(), b.split('/').collect());
    let is_verbatim = |chunk: &str| chunk.starts_with('@');
    solve(a.len(), b.len(), |i, j, ends_at| match (a.get(i), b.get(j)) {
        (None, None) => true,
        (Some(&"**"), Some(chunk))
            if ends_at(i + 1, j) || (!is_verbatim(chunk) && ends_at(i, j + 1)) =>
        {
            true
        }
        (Some(chunk), Some(&"**")) => {
            ends_at(i, j + 1) || (!is_verbatim(chunk) && ends_at(i + 1, j))
        }
        (Some(&"**"), None) => ends_at(i + 1, j),
        (None, Some(&"**")) => ends_at(i, j + 1),
        (Some(&"**") | None, _) | (_, None) => false,
        (Some(a), Some(b)) => chunks_intersect(a, b) && ends_at(i + 1, j + 1),
    })
}

/// 04 §5.2.
pub(crate) fn includes(a: &str, b: &str) -> bool {
    let (a, b): (Vec<_>, Vec<_>) = (a.split('/').collect(), b.split('/').collect());
    solve(a.len(), b.len(), |i, j, ends_at| match (a.get(i), b.get(j)) {
        (None, None) => true,
        (Some(&"**"), None) => ends_at(i + 1, j),
        (Some(&"**"), Some(b)) => ends_at(i + 1, j) || (!b.starts_with('@') && ends_at(i, j + 1)),
        (None, _) | (_, None | Some(&"**")) => false,
        (Some(a), Some(b)) => chunk_includes(a, b) && ends_at(i + 1, j + 1),
    })
}

fn chunks_intersect(a: &str, b: &str) -> bool {
    if a == b || a.starts_with('@') || b.starts_with('@') {
        return a == b;
    }
    if a == "*" || b == "*" {
        return true;
    }
    let (a, b) = (tokens(a), tokens(b));
    solve(a.len(), b.len(), |i, j, ends_at| match (a.get(i), b.get(j)) {
        (None, None) => true,
        (Some(None), _) if ends_at(i + 1, j) || (j < b.len() && ends_at(i, j + 1)) => true,
        (_, Some(None)) => ends_at(i, j + 1) || (i < a.len() && ends_at(i + 1, j)),
        (Some(Some(a)), Some(Some(b))) => a == b && ends_at(i + 1, j + 1),
        _ => false,
    })
}

fn chunk_includes(a: &str, b: &str) -> bool {
    if a == b || a.starts_with('@') || b.starts_with('@') {
        return a == b;
    }
    if a == "*" || b == "*" {
        return a == "*";
    }
    let (a, b) = (tokens(a), tokens(b));
    solve(a.len(), b.len(), |i, j, ends_at| match (a.get(i), b.get(j)) {
        (None, None) => true,
        (Some(None), _) => ends_at(i + 1, j) || (j < b.len() && ends_at(i, j + 1)),
        (Some(Some(a)), Some(Some(b))) => a == b && ends_at(i + 1, j + 1),
        _ => false,
    })
}

/// Characters, and `None` for each `$*`.
fn tokens(chunk: &str) -> Vec<Option<char>> {
    chunk.chars().filter(|&c| c != '$').map(|c| (c != '*').then_some(c)).collect()
}

/// Whether a match exists from `(0, 0)`, given the rule that decides `(i, j)` from positions
/// further on.
fn solve(
    len_a: usize,
    len_b: usize,
    rule: impl Fn(usize, usize, &dyn Fn(usize, usize) -> bool) -> bool,
) -> bool {
    let mut solved = vec![vec![false; len_b + 1]; len_a + 1];
    for i in (0..=len_a).rev() {
        for j in (0..=len_b).rev() {
            solved[i][j] = rule(i, j, &|i, j| solved[i][j]);
        }
    }
    solved[0][0]
}

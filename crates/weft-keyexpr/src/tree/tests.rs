//! The tree against a linear scan.

use super::*;
use crate::testing::Random;
use alloc::string::{String, ToString};
use alloc::vec;

fn ke(text: &str) -> Ke<'_> {
    Ke::new(text).unwrap()
}

fn tree_of(texts: &[&str]) -> KeTree<usize> {
    let mut tree = KeTree::new();
    for (number, text) in texts.iter().enumerate() {
        assert_eq!(tree.insert(ke(text), number), None);
    }
    tree
}

/// The visited key expressions, sorted; a second visit of one would show.
fn collect(visit: impl FnOnce(&mut dyn FnMut(&KeyExpr, &usize))) -> Vec<String> {
    let mut found = Vec::new();
    visit(&mut |key, _| found.push(key.to_string()));
    found.sort();
    found
}

/// What a scan over `model` finds.
fn scan(model: &[String], is_related: impl Fn(Ke<'_>) -> bool) -> Vec<String> {
    let mut found: Vec<_> = model.iter().filter(|text| is_related(ke(text))).cloned().collect();
    found.sort();
    found
}

fn assert_equals_scan(tree: &KeTree<usize>, model: &[String], question: &str) {
    let key = ke(question);
    assert_eq!(
        collect(|f| tree.for_each_intersecting(key, f)),
        scan(model, |e| e.intersects(key)),
        "∩ {question}"
    );
    assert_eq!(
        collect(|f| tree.for_each_included_by(key, f)),
        scan(model, |e| key.includes(e)),
        "⊆ {question}"
    );
    assert_eq!(
        collect(|f| tree.for_each_including(key, f)),
        scan(model, |e| e.includes(key)),
        "⊇ {question}"
    );
    assert_eq!(tree.any_intersecting(key), model.iter().any(|text| ke(text).intersects(key)));
}

#[test]
fn equals_a_scan_under_random_operations() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut tree = KeTree::with_seed(seed);
        let mut model: Vec<String> = Vec::new();
        for _ in 0..300 {
            let text = random.key_expr(5);
            let known = model.iter().position(|known| *known == text);
            if random.below(3) == 0 {
                assert_eq!(
                    tree.remove(ke(&text)).is_some(),
                    known.is_some(),
                    "seed {seed}: {text}"
                );
                known.map(|index| model.swap_remove(index));
            } else {
                assert_eq!(
                    tree.insert(ke(&text), 0).is_some(),
                    known.is_some(),
                    "seed {seed}: {text}"
                );
                if known.is_none() {
                    model.push(text);
                }
            }
            assert_eq!(tree.len(), model.len());
            assert_equals_scan(&tree, &model, &random.key_expr(6));
        }
        assert_eq!(
            collect(|f| tree.iter().for_each(|(key, value)| f(key, value))),
            scan(&model, |_| true)
        );
    }
}

#[test]
fn equals_a_scan_for_long_questions_and_deep_trees() {
    let mut random = Random::new(7);
    let model: std::collections::BTreeSet<String> = (0..60).map(|_| random.key_expr(150)).collect();
    let mut model: Vec<String> = model.into_iter().collect();
    model.extend(["**/a/**/b/**/@a/**", "**/@a/**/@b/**", "**", "a/**", "**/a"].map(String::from));
    model.sort();
    model.dedup();
    let tree = tree_of(&model.iter().map(String::as_str).collect::<Vec<_>>());
    for question in &model {
        assert_equals_scan(&tree, &model, question);
    }
    for _ in 0..300 {
        assert_equals_scan(&tree, &model, &random.key_expr(200));
    }
}

#[test]
fn insert_replaces_and_get_finds_the_same_text_only() {
    let mut tree = tree_of(&["a/*", "a/b"]);
    assert_eq!(tree.insert(ke("a/*"), 7), Some(0));
    assert_eq!(
        (tree.get(ke("a/*")), tree.get(ke("a/c")), tree.get(ke("a"))),
        (Some(&7), None, None)
    );
    *tree.get_mut(ke("a/b")).unwrap() += 1;
    *tree.get_or_insert_with(ke("a/b"), || 100) += 1;
    *tree.get_or_insert_with(ke("x"), || 100) += 1;
    assert_eq!((tree.get(ke("a/b")), tree.get(ke("x")), tree.len()), (Some(&3), Some(&101), 3));
    assert!(tree.contains(ke("x")) && !tree.contains(ke("*")));
}

#[test]
fn values_can_be_changed_while_visiting() {
    let mut tree = tree_of(&["a/b", "a/*", "c", "**"]);
    tree.for_each_intersecting_mut(ke("a/b"), |_, value| *value += 10);
    tree.iter_mut().for_each(|(_, value)| *value *= 2);
    let values = ["a/b", "a/*", "c", "**"].map(|text| *tree.get(ke(text)).unwrap());
    assert_eq!(values, [20, 22, 4, 26]);
}

#[test]
fn an_entry_reached_in_many_ways_is_visited_once() {
    let tree = tree_of(&["**/a/**/a/**", "**/a/**", "**/a", "a/**/a"]);
    for question in ["a/a/a/a", "**/a/**", "**", "a/**/a/**/a"] {
        let found = collect(|f| tree.for_each_intersecting(ke(question), f));
        assert_eq!(found, ["**/a", "**/a/**", "**/a/**/a/**", "a/**/a"], "{question}");
    }
}

#[test]
fn removed_branches_are_freed_and_their_slots_reused() {
    let mut tree = tree_of(&["keep/me"]);
    for round in 0..100 {
        let texts = ["x/y/z", "x/y", "keep/*", "keep/a$*b", "keep/**", "x/@v"]
            .map(|text| alloc::format!("{text}/{round}"));
        for text in &texts {
            assert_eq!(tree.insert(ke(text), 0), None);
        }
        for text in &texts {
            assert_eq!(tree.remove(ke(text)), Some(0));
        }
        assert_eq!(tree.nodes.len() - tree.free.len(), 3);
    }
    assert!(tree.nodes.len() < 20, "slots are reused");
    assert_eq!(tree.remove(ke("keep")), None);
    assert_eq!(tree.remove(ke("keep/me")), Some(0));
    assert_eq!((tree.nodes.capacity(), tree.len()), (0, 0));
}

#[test]
fn retain_frees_branches_and_an_empty_tree_answers() {
    let mut tree = tree_of(&["a", "a/b", "a/b/c", "d/*", "d/**"]);
    tree.retain(|_, value| *value % 2 == 0);
    assert_eq!(
        collect(|f| tree.iter().for_each(|(key, value)| f(key, value))),
        ["a", "a/b/c", "d/**"]
    );
    tree.retain(|_, _| false);
    assert!(tree.is_empty() && tree.nodes.is_empty());
    assert!(!tree.any_intersecting(ke("**")));
    assert_eq!(tree.get(ke("a")), None);
    assert_eq!(tree.remove(ke("a")), None);
    tree.insert(ke("a"), 1);
    tree.clear();
    assert_eq!(alloc::format!("{tree:?}"), "{}");
}

/// What `ask` gives, and how often it looks at the chunk of a node for that.
fn looks<R>(ask: impl FnOnce() -> R) -> (R, usize) {
    let before = node::LOOKS.get();
    let answer = ask();
    (answer, node::LOOKS.get() - before)
}

/// Asks a tree of a hundred thousand about what concerns a few of them.
#[test]
fn a_question_looks_at_the_nodes_on_its_way_only() {
    const BUILDINGS: usize = 100;
    const ROOMS: usize = 100;
    const SENSORS: usize = 10;
    let mut tree = KeTree::new();
    for building in 0..BUILDINGS {
        for room in 0..ROOMS {
            for sensor in 0..SENSORS {
                let text = alloc::format!("city/{building}/room/{room}/sensor{sensor}");
                tree.insert(ke(&text), 0);
            }
        }
    }
    for text in ["city/*/room/*/sensor3", "city/7/**", "**/sensor3", "city/*/room/7$*/*"] {
        tree.insert(ke(text), 0);
    }
    // How many it finds; what it looks at beyond those: the way there and the wildcards beside it.
    for (question, expected, beside) in [
        ("city/7/room/70/sensor3", 5, 20),
        ("city/8/room/8/sensor4", 1, 20),
        ("city/7/room/70/**", SENSORS + 4, 20),
        ("city/8/room/*/sensor3", ROOMS + 3, 2 * ROOMS + 40),
        ("city/8/**", ROOMS * SENSORS + 3, ROOMS + 40),
        ("city/8/@room/**", 0, 20),
        ("elsewhere/**", 1, 20),
    ] {
        let key = ke(question);
        let (found, looked) = looks(|| collect(|f| tree.for_each_intersecting(key, f)).len());
        assert_eq!(found, expected, "∩ {question}");
        assert!((1..=found + beside).contains(&looked), "∩ {question}: {looked}");
        let (found, looked) = looks(|| collect(|f| tree.for_each_included_by(key, f)).len());
        assert!(looked <= found + beside, "⊆ {question}: {looked}");
        let (found, looked) = looks(|| collect(|f| tree.for_each_including(key, f)).len());
        assert!(looked <= found + beside, "⊇ {question}: {looked}");
        let (is_any, looked) = looks(|| tree.any_intersecting(key));
        assert!(is_any == (expected > 0) && looked <= 20, "any {question}: {looked}");
    }
    // It counts at all: here the answer is everything.
    let (found, looked) = looks(|| collect(|f| tree.for_each_intersecting(ke("**"), f)).len());
    assert!(found == tree.len() && looked >= found, "{looked}");
}

#[test]
fn the_order_repeats() {
    let texts: Vec<String> = (0..100).map(|n| alloc::format!("a/{}/{n}", n % 7)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let order = |tree: &KeTree<usize>| {
        let mut order = vec![];
        tree.for_each_intersecting(ke("a/**"), |_, value| order.push(*value));
        order
    };
    assert_eq!(order(&tree_of(&texts)), order(&tree_of(&texts)));
}

/// Key expressions of one-letter chunks, as deep and as ambiguous as the wire allows.
#[test]
fn hostile_shapes_end() {
    const COUNT: usize = 8_000;
    let mut tree = KeTree::new();
    let ambiguous = alloc::format!("**/{}b", "a/**/".repeat(COUNT / 2));
    let deep = alloc::format!("{}b", "a/".repeat(COUNT));
    for text in [&*ambiguous, &*deep, "**/a", "**/b", "**/a/**/b"] {
        tree.insert(ke(text), 0);
    }
    let question = alloc::format!("{}c", "a/".repeat(COUNT));
    assert!(!tree.any_intersecting(ke(&question)));
    let question = alloc::format!("{}{}b", "c/".repeat(COUNT / 2), "a/".repeat(COUNT / 2));
    assert_eq!(collect(|f| tree.for_each_intersecting(ke(&question), f)).len(), 3);
    assert_eq!(tree.remove(ke(&deep)), Some(0));
}

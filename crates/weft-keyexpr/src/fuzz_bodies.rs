//! What the fuzz targets run: any bytes in, a panic if an answer contradicts another way to obtain
//! it.
//!
//! The bytes are lines of text. ASCII stands for itself; other bytes pick a character that the
//! languages care about, so that a mutation rarely ends in text that everything refuses.

use crate::{
    Ke, KeFormat, KeTree, KeyExpr, Parameters, ParametersView, SelectorView, SetIntersectionLevel,
    SnRange, TimeRange, oracle,
};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The definitions that answers are compared with take time proportional to the product of two
/// lengths.
const LINE_LEN_MAX: usize = 64;
const LINE_COUNT_MAX: usize = 16;

/// Everything, on the same lines.
pub fn fuzz(data: &[u8]) {
    let lines: Vec<String> =
        data.split(|&byte| byte == b'\n').take(LINE_COUNT_MAX).map(line).collect();
    let key_exprs: Vec<KeyExpr> =
        lines.iter().filter_map(|text| KeyExpr::autocanonize(text).ok()).collect();
    for a in &key_exprs {
        for b in &key_exprs {
            relations(a.as_ke(), b.as_ke());
        }
    }
    tree(&key_exprs);
    for text in &lines {
        validation(text);
        format(text, &key_exprs);
        parameters(text, &lines);
        time_range(text);
    }
}

fn line(bytes: &[u8]) -> String {
    const ALPHABET: [char; 16] =
        ['a', 'b', 'é', '/', '/', '/', '*', '*', '$', '@', '#', '?', ';', '=', '{', '}'];
    let character = |&byte: &u8| {
        if byte.is_ascii() { byte as char } else { ALPHABET[byte as usize % ALPHABET.len()] }
    };
    bytes.iter().take(LINE_LEN_MAX).map(character).collect()
}

/// Canonization and the strict check agree, and each error describes its text.
fn validation(text: &str) {
    let canonical = KeyExpr::autocanonize(text);
    if let Ok(canonical) = &canonical {
        assert!(canonical.as_str().len() <= text.len());
        assert!(Ke::new(canonical.as_str()).is_ok(), "{canonical}");
        assert_eq!(
            KeyExpr::autocanonize(canonical.as_str()).as_ref(),
            Ok(canonical),
            "canonical form is a fixpoint"
        );
    }
    match Ke::new(text) {
        Ok(ke) => {
            assert_eq!(canonical, Ok(ke.to_owned()));
            assert!(text.starts_with(ke.non_wild_prefix()));
        }
        Err(error) => {
            assert_eq!(error.hint.as_deref(), canonical.as_ref().ok().map(KeyExpr::as_str));
            assert!(error.to_string().contains(text) && text.contains(error.chunk()));
        }
    }
    if let Ok(selector) = SelectorView::parse(text) {
        assert_eq!(SelectorView::parse(&selector.to_string()), Ok(selector));
    }
}

fn relations(a: Ke<'_>, b: Ke<'_>) {
    let intersects = a.intersects(b);
    assert_eq!(intersects, b.intersects(a), "{a} {b}: symmetry");
    assert_eq!(intersects, oracle::intersects(a.as_str(), b.as_str()), "{a} {b}");
    let includes = a.includes(b);
    assert_eq!(includes, oracle::includes(a.as_str(), b.as_str()), "{a} {b}");
    let expected = match (a == b, includes, intersects) {
        (true, true, true) => SetIntersectionLevel::Equals,
        (false, true, true) => SetIntersectionLevel::Includes,
        (false, false, true) => SetIntersectionLevel::Intersects,
        (false, false, false) => SetIntersectionLevel::Disjoint,
        _ => panic!("{a} {b}: equal means included, included means intersecting"),
    };
    assert_eq!(a.relation_to(b), expected, "{a} {b}");
    assert!((a / b).as_str().len() <= a.as_str().len() + 1 + b.as_str().len());
    if !b.is_wild() {
        assert_eq!((b / a).strip_namespace(b), Some(a), "{b} in front of {a}");
        let stripped = a.strip_namespace(b);
        assert!(
            stripped.is_none_or(|rest| Ke::new(rest.as_str()).is_ok() && (b / rest).intersects(a)),
            "{a} {b}"
        );
    }
}

/// A tree gives the answers of a scan while entries come and go.
fn tree(key_exprs: &[KeyExpr]) {
    let mut tree = KeTree::new();
    let mut model: Vec<(KeyExpr, usize)> = Vec::new();
    for (number, key) in key_exprs.iter().enumerate() {
        let known = model.iter().position(|(known, _)| known == key);
        let known = known.map(|index| model.swap_remove(index).1);
        if number % 3 == 2 {
            assert_eq!(tree.remove(key.as_ke()), known);
        } else {
            assert_eq!(tree.insert(key, number), known);
            model.push((key.clone(), number));
        }
        assert_eq!(tree.len(), model.len());
        let query = key_exprs[key_exprs.len() - 1 - number].as_ke();
        let scan = |is_related: &dyn Fn(Ke<'_>) -> bool| {
            sorted(
                model.iter().filter(|(key, _)| is_related(key.as_ke())).map(|(_, number)| *number),
            )
        };
        let mut found: [Vec<usize>; 3] = Default::default();
        tree.for_each_intersecting(query, |_, number| found[0].push(*number));
        tree.for_each_included_by(query, |_, number| found[1].push(*number));
        tree.for_each_including(query, |_, number| found[2].push(*number));
        let expected = [
            scan(&|key| key.intersects(query)),
            scan(&|key| query.includes(key)),
            scan(&|key| key.includes(query)),
        ];
        assert_eq!(found.map(sorted), expected, "{query} in {tree:?}");
    }
    tree.retain(|_, number| *number % 2 == 0);
    model.retain(|(_, number)| number % 2 == 0);
    assert_eq!(
        sorted(tree.iter().map(|(_, number)| *number)),
        sorted(model.iter().map(|(_, number)| *number))
    );
}

fn sorted(numbers: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut numbers: Vec<usize> = numbers.into_iter().collect();
    numbers.sort_unstable();
    numbers
}

/// A format prints as it was read, and puts together what it takes apart.
fn format(text: &str, key_exprs: &[KeyExpr]) {
    let Ok(format) = KeFormat::new(text) else { return };
    assert_eq!(KeFormat::new(&format.to_string()).as_ref(), Ok(&format));
    for key in key_exprs {
        let Some(fields) = format.parse(key.as_ke()) else { continue };
        if key.is_wild() {
            continue;
        }
        let mut formatter = format.formatter();
        for (id, value) in fields.iter() {
            formatter
                .set(id, value)
                .expect("a piece without wildcards is included by the pattern that it intersects");
        }
        assert_eq!(formatter.build().as_ref(), Ok(key), "{format}");
    }
}

fn parameters(text: &str, lines: &[String]) {
    let view = ParametersView::new(text);
    assert_eq!(ParametersView::new(view.as_str()), view, "trimming is a fixpoint");
    assert!(view.iter().all(|(name, _)| view.contains(name)));
    SnRange::parse(text).contains(Some(0));
    let mut parameters = Parameters::from(view);
    for value in lines {
        let old = parameters.get("a").map(ToString::to_string);
        match parameters.insert("a", value) {
            Ok(replaced) => {
                assert_eq!((replaced, parameters.get("a")), (old, Some(value.as_str())));
                assert_eq!(parameters.iter().filter(|(name, _)| *name == "a").count(), 1);
            }
            Err(_) => assert!(value.contains(';')),
        }
        parameters.extend(ParametersView::new(value));
        assert!(
            ParametersView::new(value)
                .iter()
                .all(|(name, _)| name.is_empty() || parameters.contains(name))
        );
    }
    parameters.remove("a");
    assert!(!parameters.contains("a"));
}

fn time_range(text: &str) {
    let Ok(range) = TimeRange::parse(text) else { return };
    assert_eq!(TimeRange::parse(&range.to_string()), Ok(range));
    for now_unix_ns in [i128::MIN, 0, 1_700_000_000_000_000_000, i128::MAX] {
        range.contains(now_unix_ns, now_unix_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn holds_for_chosen_lines() {
        fuzz(b"");
        fuzz(b"a/**/b\n**/*\n$*$*/a$*$*b\n@a/**/@b\n*/**\n**\na$*b/c\n//\na/b/c\na\na/@b$*");
        fuzz(b"a/${x:*}/b/${y:**#z}\n$#{x:a$*}#/${y:**}\n${x:**}/${y:**}\na/1/b/2/3\nab/c\n**");
        fuzz(b"a=1;b=2|3;a=4\n=;=\n_time=[now(-1h)..]\na;b\n|");
        fuzz(b"[now(-1.5h)..2023-11-14T22:13:20.5Z[\n]now(1e300);5w]\n[..]\n[now(),-0m[");
    }

    #[test]
    fn holds_for_random_bytes() {
        let mut random = Random::new(4);
        for _ in 0..1_000 {
            let mut byte =
                |_| if random.below(8) == 0 { b'\n' } else { 128 + random.below(128) as u8 };
            let data: Vec<u8> = (0..120).map(&mut byte).collect();
            fuzz(&data);
        }
    }
}

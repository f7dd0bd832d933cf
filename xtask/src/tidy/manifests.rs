//! Rules about `Cargo.toml`: who may depend on whom.

use super::tree::{File, Tree};
use super::{Finding, Rule, SANS_IO};

pub(super) const RULES: &[Rule] =
    &[arrows, sans_io_has_no_dependencies, no_reference, shared_lints];

const BELOW_RUNTIME: &[&str] = &[
    "weft-keyexpr",
    "weft-wire",
    "weft-transport",
    "weft-routing",
    "weft-intercept",
    "weft-node",
    "weft-link",
];
const BELOW_WEFT: &[&str] = &[
    "weft-keyexpr",
    "weft-wire",
    "weft-transport",
    "weft-routing",
    "weft-intercept",
    "weft-node",
    "weft-link",
    "weft-runtime",
];

/// Which packages of ours each package may name, in any kind of dependency. Every package has a line.
const ARROWS: &[(&str, &[&str])] = &[
    ("weft-keyexpr", &[]),
    ("weft-wire", &[]),
    ("weft-transport", &["weft-wire"]),
    ("weft-routing", &["weft-keyexpr", "weft-wire"]),
    ("weft-intercept", &["weft-keyexpr", "weft-wire"]),
    (
        "weft-node",
        &["weft-keyexpr", "weft-wire", "weft-transport", "weft-routing", "weft-intercept"],
    ),
    ("weft-sim", SANS_IO),
    ("weft-link", &["weft-wire"]),
    ("weft-runtime", BELOW_RUNTIME),
    ("weft", BELOW_WEFT),
    ("weft-cli", &["weft", "weft-transport", "weft-wire"]),
    ("weft-driver", &["weft"]),
    ("weft-python", &["weft"]),
    ("weft-fuzz", SANS_IO),
    ("xtask", &[]),
];

fn arrows(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for manifest in manifests(tree).filter(|manifest| !is_bench(manifest)) {
        let Some(package) = package_name(manifest) else {
            continue;
        };
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == package) else {
            findings.push(Finding::error(
                &manifest.path,
                0,
                format!("`{package}` has no line in the table of arrows"),
            ));
            continue;
        };
        for dependency in dependencies(manifest).filter(|dependency| is_ours(&dependency.package)) {
            if !allowed.contains(&dependency.package.as_str()) {
                let text = format!("`{package}` must not depend on `{}`", dependency.package);
                findings.push(Finding::error(&manifest.path, dependency.line, text));
            }
        }
    }
    findings
}

/// What a crate without I/O may have from outside all the same: an algorithm that needs neither I/O nor
/// `std`.
const ALGORITHMS: &[(&str, &str)] =
    &[("weft-transport", "lz4_flex"), ("weft-routing", "siphasher"), ("weft-routing", "hashbrown")];

fn sans_io_has_no_dependencies(tree: &Tree) -> Vec<Finding> {
    let manifests = manifests(tree)
        .filter(|manifest| manifest.package().is_some_and(|name| SANS_IO.contains(&name)));
    let dependencies = manifests
        .flat_map(|manifest| dependencies(manifest).map(move |dependency| (manifest, dependency)));
    let is_algorithm = |manifest: &File, dependency: &Dependency| {
        let package = package_name(manifest).unwrap_or_default();
        ALGORITHMS.contains(&(package, dependency.package.as_str()))
    };
    dependencies
        .filter(|(_, dependency)| !dependency.for_tests && !is_ours(&dependency.package))
        .filter(|(manifest, dependency)| !is_algorithm(manifest, dependency))
        .map(|(manifest, dependency)| {
            let text = format!(
                "`{}`: a crate without I/O has no dependencies from outside",
                dependency.package
            );
            Finding::error(&manifest.path, dependency.line, text)
        })
        .collect()
}

/// The reference is measured against, never built upon. A lock file tells what comes in through somebody else.
fn no_reference(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for manifest in manifests(tree).filter(|manifest| !is_bench(manifest)) {
        for dependency in
            dependencies(manifest).filter(|dependency| dependency.package.starts_with("zenoh"))
        {
            let text = format!("`{}` is the reference, for bench/ only", dependency.package);
            findings.push(Finding::error(&manifest.path, dependency.line, text));
        }
    }
    for lock in tree.files.iter().filter(|file| file.name() == "Cargo.lock" && !is_bench(file)) {
        for (at, line) in
            lock.text.lines().enumerate().filter(|(_, line)| line.starts_with("name = \"zenoh"))
        {
            findings.push(Finding::error(
                &lock.path,
                at + 1,
                format!("{line}: the reference, for bench/ only"),
            ));
        }
    }
    findings
}

fn shared_lints(tree: &Tree) -> Vec<Finding> {
    let crates = manifests(tree)
        .filter(|manifest| manifest.package().is_some() || manifest.path == "xtask/Cargo.toml");
    let strangers = crates.filter(|manifest| !manifest.text.contains("[lints]\nworkspace = true"));
    strangers
        .map(|manifest| Finding::error(&manifest.path, 0, "`[lints] workspace = true` is missing"))
        .collect()
}

fn manifests(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|file| file.name() == "Cargo.toml")
}

fn is_bench(file: &File) -> bool {
    file.path.starts_with("bench/")
}

fn is_ours(package: &str) -> bool {
    package == "weft" || package.starts_with("weft-")
}

fn package_name(manifest: &File) -> Option<&str> {
    let (_, package) = manifest.text.split_once("[package]")?;
    let line = package.lines().find(|line| line.starts_with("name"))?;
    line.split('"').nth(1)
}

struct Dependency {
    package: String,
    line: usize,
    for_tests: bool,
}

/// The dependencies of a manifest, in all its tables, renamed ones by their real name.
fn dependencies(manifest: &File) -> impl Iterator<Item = Dependency> {
    let mut table = Table::Other;
    manifest.text.lines().enumerate().filter_map(move |(at, line)| {
        let found = |package: &str, for_tests| {
            Some(Dependency { package: package.to_owned(), line: at + 1, for_tests })
        };
        if let Some(header) = line.strip_prefix('[') {
            table = Table::of(header.trim_end_matches(']'));
            return match &table {
                Table::Single { package, for_tests } => found(package, *for_tests),
                _ => None,
            };
        }
        let renamed = line.split_once("package = \"").and_then(|(_, rest)| rest.split('"').next());
        match table {
            Table::List { for_tests } => found(renamed.or_else(|| key(line))?, for_tests),
            Table::Single { for_tests, .. } => found(renamed?, for_tests),
            Table::Other => None,
        }
    })
}

/// The first part of a line's key, `a` in `a.workspace = true`.
fn key(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=')?;
    let key = key.split('.').next()?.trim();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    (!key.is_empty() && key.chars().all(is_plain)).then_some(key)
}

enum Table {
    /// `[dependencies]`, `[target.'…'.dev-dependencies]`: a dependency a line.
    List {
        for_tests: bool,
    },
    /// `[dependencies.name]`: one dependency.
    Single {
        package: String,
        for_tests: bool,
    },
    Other,
}

impl Table {
    fn of(header: &str) -> Self {
        let for_tests = header.contains("dev-dependencies");
        if header.ends_with("dependencies") {
            return Self::List { for_tests };
        }
        match header.split_once("dependencies.") {
            Some((_, package)) => Self::Single { package: package.to_owned(), for_tests },
            None => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample::found;

    const NONE: [&str; 0] = [];

    fn manifest(name: &str, rest: &str) -> String {
        format!("[package]\nname = \"{name}\"\nversion.workspace = true\n\n{rest}")
    }

    #[test]
    fn an_arrow_points_down() {
        let path = "crates/weft-routing/Cargo.toml";
        let fine = manifest("weft-routing", "[dependencies]\nweft-wire.workspace = true\n");
        assert_eq!(found(arrows, &[(path, &fine)]), NONE);
        for upward in [
            "[dependencies]\nweft-transport.workspace = true\n",
            "[dependencies]\nweft-transport = { path = \"../weft-transport\", features = [\n  \"x\",\n] }\n",
            "[dev-dependencies]\nweft-sim.workspace = true\n",
            "[target.'cfg(unix)'.dependencies]\nweft-node = { path = \"x\" }\n",
            "[dependencies.weft]\npath = \"../weft\"\n",
            "[dependencies]\nw = { package = \"weft-link\", path = \"x\" }\n",
        ] {
            let findings = found(arrows, &[(path, &manifest("weft-routing", upward))]);
            assert_eq!(findings.len(), 1, "{upward}: {findings:?}");
            assert!(findings[0].contains("must not depend on"), "{findings:?}");
        }
    }

    #[test]
    fn a_new_package_needs_a_line_in_the_table() {
        let findings = found(arrows, &[("crates/weft-new/Cargo.toml", &manifest("weft-new", ""))]);
        assert_eq!(
            findings,
            ["error: crates/weft-new/Cargo.toml: `weft-new` has no line in the table of arrows"]
        );
    }

    #[test]
    fn sans_io_crates_depend_on_nothing_outside_but_for_tests() {
        let path = "crates/weft-wire/Cargo.toml";
        let fine = manifest(
            "weft-wire",
            "[dependencies]\n\n[dev-dependencies]\nproptest.workspace = true\n",
        );
        assert_eq!(found(sans_io_has_no_dependencies, &[(path, &fine)]), NONE);
        let broken = manifest(
            "weft-wire",
            "[dependencies]\nbytes = \"1\"\n\n[build-dependencies]\ncc = \"1\"\n",
        );
        assert_eq!(found(sans_io_has_no_dependencies, &[(path, &broken)]).len(), 2);
        let algorithm = "[dependencies]\nlz4_flex.workspace = true\n";
        for (name, findings) in [("weft-transport", 0), ("weft-wire", 1)] {
            let text = manifest(name, algorithm);
            let path = format!("crates/{name}/Cargo.toml");
            assert_eq!(found(sans_io_has_no_dependencies, &[(&path, &text)]).len(), findings);
        }
    }

    #[test]
    fn the_reference_is_for_benchmarks() {
        let using = manifest(
            "weft",
            "[dependencies]\nzenoh = \"1\"\n\n[dev-dependencies]\nz = { package = \"zenoh-ext\" }\n",
        );
        assert_eq!(found(no_reference, &[("crates/weft/Cargo.toml", &using)]).len(), 2);
        assert_eq!(found(no_reference, &[("bench/reference/Cargo.toml", &using)]), NONE);
        let lock = "[[package]]\nname = \"zenoh-protocol\"\nversion = \"1.10.0\"\n";
        assert_eq!(
            found(no_reference, &[("Cargo.lock", lock), ("bench/reference/Cargo.lock", lock)])
                .len(),
            1
        );
    }

    #[test]
    fn lints_come_from_the_workspace() {
        let shared = manifest("weft", "[lints]\nworkspace = true\n");
        assert_eq!(found(shared_lints, &[("crates/weft/Cargo.toml", &shared)]), NONE);
        assert_eq!(
            found(shared_lints, &[("crates/weft/Cargo.toml", &manifest("weft", ""))]).len(),
            1
        );
    }
}

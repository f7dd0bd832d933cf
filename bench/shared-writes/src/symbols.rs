//! Names for addresses of another process: which line of which function, or which memory.

use addr2line::Loader;
use std::collections::HashMap;
use std::fs;
use std::io;

/// The memory of a process, and the files that are mapped there.
pub(crate) struct Symbols {
    mappings: Vec<Mapping>,
    files: HashMap<String, Loader>,
}

struct Mapping {
    from: u64,
    to: u64,
    /// Where the file it is part of begins; of a program that is placed anywhere, that is its address 0.
    base: u64,
    /// A path, `[heap]`, or nothing.
    name: String,
}

impl Symbols {
    /// Those of a process that runs.
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let mut mappings: Vec<Mapping> = Vec::new();
        for line in fs::read_to_string(format!("/proc/{pid}/maps"))?.lines() {
            let mut words = line.split_ascii_whitespace();
            let (range, offset) = (words.next(), words.nth(1));
            let name = words.nth(2).unwrap_or_default();
            let hex = |text: &str| u64::from_str_radix(text, 16).ok();
            let Some((from, to)) = range.and_then(|range| range.split_once('-')) else { continue };
            let (Some(from), Some(to)) = (hex(from), hex(to)) else { continue };
            let same =
                mappings.iter().rev().find(|it| it.name == name && offset != Some("00000000"));
            let base = same.map_or(from, |it| it.base);
            mappings.push(Mapping { from, to, base, name: name.to_owned() });
        }
        let mut files = HashMap::new();
        for mapping in mappings.iter().filter(|mapping| mapping.name.starts_with('/')) {
            if !files.contains_key(&mapping.name)
                && let Ok(loader) = Loader::new(&mapping.name)
            {
                files.insert(mapping.name.clone(), loader);
            }
        }
        Ok(Self { mappings, files })
    }

    fn at(&self, address: u64) -> Option<(&Mapping, Option<&Loader>)> {
        let mapping = self.mappings.iter().find(|it| (it.from..it.to).contains(&address))?;
        Some((mapping, self.files.get(&mapping.name)))
    }

    /// The memory at an address: a static by name, or what kind it is.
    pub(crate) fn memory(&self, address: u64) -> String {
        match self.at(address) {
            Some((mapping, Some(file))) => {
                let symbol = file.find_symbol(address - mapping.base).map(demangled);
                symbol.unwrap_or_else(|| short(&mapping.name).to_owned())
            }
            // Under valgrind, the memory of the C library's allocator has no name but for the first part.
            _ => "heap, or the stack of a thread".to_owned(),
        }
    }

    /// The innermost function of this project around an instruction, with file and line. If there is none, the innermost
    /// one at all: of what a library does out of line, the caller is not known.
    pub(crate) fn code(&self, address: u64) -> String {
        let Some((mapping, Some(file))) = self.at(address) else { return "no function".to_owned() };
        let address = address - mapping.base;
        let mut innermost = None;
        if let Ok(mut found) = file.find_frames(address) {
            while let Ok(Some(frame)) = found.next() {
                let Some(function) = &frame.function else { continue };
                let Ok(name) = function.demangle() else { continue };
                let place = frame.location.and_then(|place| Some((place.file?, place.line?)));
                let (file, line) = place.unwrap_or_default();
                let shown = format!("{} {}:{line}", plain(&name), source(file));
                if OWN.iter().any(|own| file.contains(own)) {
                    return shown;
                }
                innermost.get_or_insert(shown);
            }
        }
        innermost.unwrap_or_else(|| {
            let symbol = file.find_symbol(address).map(demangled);
            format!("{} of {}", symbol.as_deref().unwrap_or("code"), short(&mapping.name))
        })
    }
}

/// What is in the paths of this project's sources.
const OWN: [&str; 2] = ["/crates/weft", "/bench/shared-writes/"];

/// The path of a source file from the folder of its crate on.
fn source(path: &str) -> &str {
    path.split_once("/crates/")
        .or_else(|| path.split_once("/bench/"))
        .or_else(|| path.split_once("/library/"))
        .or_else(|| path.split_once("/registry/src/")?.1.split_once('/'))
        .map_or(path, |(_, rest)| rest)
}

fn short(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn demangled(symbol: &str) -> String {
    plain(&addr2line::demangle_auto(symbol.into(), None)).to_owned()
}

/// A name without the types that it is made for, and without its hash.
fn plain(name: &str) -> &str {
    let name = name.rsplit_once("::h").filter(|(_, it)| it.len() == 16).map_or(name, |(it, _)| it);
    name.find('<').filter(|at| *at > 0).map_or(name, |at| name[..at].trim_end_matches("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(
            plain("weft_runtime::plane::new_mark::h0123456789abcdef"),
            "weft_runtime::plane::new_mark"
        );
        assert_eq!(plain("lock<weft_runtime::shared::Control>"), "lock");
        assert_eq!(plain("<a::B as c::D>::e"), "<a::B as c::D>::e");
        assert_eq!(source("/some/crates/weft-node/src/hlc.rs"), "weft-node/src/hlc.rs");
    }

    #[test]
    fn what_runs_here_is_found() {
        static HERE: u64 = 1;
        let symbols = Symbols::of(std::process::id()).unwrap();
        let address = std::ptr::from_ref(std::hint::black_box(&HERE)).addr() as u64;
        assert!(symbols.at(address).is_some());
        let function = known as fn(u64) -> u64 as usize as u64;
        let found = symbols.code(function);
        assert!(found.contains("known shared-writes/src/symbols.rs:"), "{found}");
    }

    #[inline(never)]
    fn known(value: u64) -> u64 {
        std::hint::black_box(value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

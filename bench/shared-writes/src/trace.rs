//! What `valgrind --tool=lackey --trace-mem=yes` says, as the cache lines that each of two flows touches.
//!
//! Lackey prints a line an instruction, and below it one for each load (`L`), store (`S`) or both (`M`, atomic
//! read-modify-writes too), of all threads in the order in which they ran:
//!
//! ```text
//! I  0401ab73,5
//!  S 1fff000758,8
//! ```
//!
//! The program marks in the trace where a flow begins, by a store to an address of its own. What the kernel reads and
//! writes is not in it.

use std::collections::HashMap;
use std::io::{self, BufRead};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that processors hand to each other as one. Some fetch two at a time, which costs a reader nothing.
pub(crate) const LINE_LEN: u64 = 64;

/// Marks: one for the beginning of each flow, and one for the end. They follow one another in memory, 8 bytes each.
pub(crate) const MARKS: usize = 3;

/// Instructions that count as one moment: less than any message takes. What touches a line once in a while, but then
/// several times, as a timer does, touches it in one moment or two.
const MOMENT: u64 = 1000;

/// What one flow does to one line, in moments.
#[derive(Clone, Copy, Default)]
pub(crate) struct Touches {
    /// With a load or a store.
    pub(crate) any: u64,
    /// With a store.
    pub(crate) writes: u64,
    /// The last moment of each that is counted.
    last_any: u64,
    last_write: u64,
}

/// Who touches a line: the address of an instruction, and whether it stores.
pub(crate) type Site = (u64, bool);

/// One flow: the lines it touches, by number, and from where.
#[derive(Default)]
pub(crate) struct Flow {
    pub(crate) lines: HashMap<u64, Touches>,
    pub(crate) sites: HashMap<u64, HashMap<Site, u64>>,
    pub(crate) instructions: u64,
}

impl Flow {
    fn touch(&mut self, address: u64, len: u64, writes: bool, from: u64) {
        // Moments begin at 1, so that no line counts as touched before.
        let moment = self.instructions / MOMENT + 1;
        for line in address / LINE_LEN..=(address + len.max(1) - 1) / LINE_LEN {
            let touches = self.lines.entry(line).or_default();
            touches.any += u64::from(std::mem::replace(&mut touches.last_any, moment) != moment);
            if writes {
                let last = std::mem::replace(&mut touches.last_write, moment);
                touches.writes += u64::from(last != moment);
            }
            *self.sites.entry(line).or_default().entry((from, writes)).or_default() += 1;
        }
    }
}

/// A whole run.
#[derive(Default)]
pub(crate) struct Trace {
    pub(crate) flows: [Flow; 2],
    /// The end of the last flow is marked.
    pub(crate) is_whole: bool,
    /// What was printed beside the trace.
    pub(crate) said: String,
}

/// A line that both flows touch and at least one of them writes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    pub(crate) line: u64,
    /// Moments in which each flow writes it.
    pub(crate) writes: [u64; 2],
}

impl Trace {
    /// Reads a trace to its end. `marks` is the address of the first mark; until it is known, it is 0.
    pub(crate) fn read(mut input: impl BufRead, marks: &AtomicU64) -> io::Result<Self> {
        let mut trace = Self::default();
        let (mut line, mut flow, mut instruction) = (Vec::new(), None, 0);
        loop {
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                return Ok(trace);
            }
            let Some((kind, address, len)) = parse(&line) else {
                trace.said.push_str(&String::from_utf8_lossy(&line));
                continue;
            };
            if kind == b'I' {
                instruction = address;
                if let Some(flow) = flow {
                    let flow: &mut Flow = &mut trace.flows[flow];
                    flow.instructions += 1;
                }
                continue;
            }
            let writes = kind != b'L';
            if writes && let Some(mark) = which_mark(address, marks.load(Ordering::Relaxed)) {
                flow = (mark < trace.flows.len()).then_some(mark);
                trace.is_whole = flow.is_none();
            } else if let Some(flow) = flow {
                trace.flows[flow].touch(address, len, writes, instruction);
            }
        }
    }

    /// The lines that one flow writes, and both touch, in at least `often` moments.
    pub(crate) fn shared(&self, often: u64) -> Vec<Shared> {
        let [one, other] = &self.flows;
        let mut shared: Vec<Shared> = one
            .lines
            .iter()
            .filter_map(|(line, one)| {
                let other = other.lines.get(line)?;
                let is_shared =
                    one.any.min(other.any) >= often && one.writes.max(other.writes) >= often;
                is_shared.then_some(Shared { line: *line, writes: [one.writes, other.writes] })
            })
            .collect();
        shared.sort_by_key(|shared| shared.line);
        shared
    }
}

/// The kind, address and length of an access; nothing if the line is not part of the trace.
fn parse(line: &[u8]) -> Option<(u8, u64, u64)> {
    let (head, rest) = line.split_at_checked(3)?;
    let kind = match head {
        b"I  " => b'I',
        b" L " => b'L',
        b" S " => b'S',
        b" M " => b'M',
        _ => return None,
    };
    let (mut address, mut digits) = (0_u64, rest.iter());
    for digit in digits.by_ref().take_while(|digit| **digit != b',') {
        address = address << 4 | u64::from(char::from(*digit).to_digit(16)?);
    }
    let len = std::str::from_utf8(digits.as_slice()).ok()?.trim_end().parse().ok()?;
    Some((kind, address, len))
}

fn which_mark(address: u64, marks: u64) -> Option<usize> {
    let offset = address.checked_sub(marks).filter(|_| marks != 0)?;
    usize::try_from(offset / 8).ok().filter(|mark| *mark < MARKS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    const MARK: u64 = 0x9000;

    /// What one message does.
    type Each<'a> = &'a dyn Fn(&mut String, u64);

    /// A flow of `messages`, each of them two moments long, that touches what `each` says.
    fn flow(text: &mut String, mark: u64, messages: u64, each: impl Fn(&mut String, u64)) {
        let _ = writeln!(text, "I  00400000,7\n S {:08x},8", MARK + 8 * mark);
        for message in 0..messages {
            each(text, message);
            text.push_str(&"I  00400007,1\n".repeat(2000));
        }
    }

    fn shared(each: [Each<'_>; 2]) -> Vec<Shared> {
        let mut text = "==1== Lackey\n S 00001000,8\n".to_owned();
        for (mark, each) in (0..).zip(each) {
            flow(&mut text, mark, 100, each);
        }
        flow(&mut text, 2, 0, |_, _| ());
        let trace = Trace::read(text.as_bytes(), &AtomicU64::new(MARK)).unwrap();
        assert!(trace.is_whole);
        assert_eq!(trace.said, "==1== Lackey\n");
        trace.shared(10)
    }

    fn access(text: &mut String, kind: char, address: u64) {
        let _ = writeln!(text, "I  00400010,4\n {kind} {address:08x},8");
    }

    #[test]
    fn a_line_that_both_touch_and_one_writes_is_shared() {
        let found =
            shared([&|text, _| access(text, 'M', 0x1000), &|text, _| access(text, 'L', 0x1038)]);
        assert_eq!(found, [Shared { line: 0x1000 / LINE_LEN, writes: [100, 0] }]);
    }

    #[test]
    fn what_is_only_read_or_lies_side_by_side_is_not() {
        let read = |text: &mut String, _| access(text, 'L', 0x1000);
        assert_eq!(shared([&read, &read]), []);
        let apart =
            shared([&|text, _| access(text, 'S', 0x1000), &|text, _| access(text, 'S', 0x1040)]);
        assert_eq!(apart, []);
    }

    #[test]
    fn what_is_written_now_and_then_is_not_written_per_message() {
        let often = |text: &mut String, _| access(text, 'S', 0x1000);
        let seldom = |text: &mut String, message: u64| {
            if message.is_multiple_of(20) {
                (0..50).for_each(|_| access(text, 'S', 0x1000));
            }
        };
        assert_eq!(shared([&often, &seldom]), []);
    }

    #[test]
    fn an_access_across_two_lines_touches_both() {
        let across = |text: &mut String, _| access(text, 'S', 0x103c);
        assert_eq!(shared([&across, &across]).len(), 2);
    }
}

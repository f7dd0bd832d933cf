//! What a trace has shown, as text and as JSON.

use crate::cases::{Case, Expected};
use crate::symbols::Symbols;
use crate::trace::{LINE_LEN, Shared, Trace};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The lines that a case shares.
pub(crate) struct Finding {
    case: &'static Case,
    messages: u64,
    flows: [FlowCost; 2],
    shared: Vec<Line>,
}

/// What one flow does, to see that there was something to find.
struct FlowCost {
    instructions_each: u64,
    lines_written: usize,
}

/// A line that both flows touch with every message, and one of them writes.
struct Line {
    address: u64,
    memory: String,
    /// Times that each flow writes it.
    writes: [u64; 2],
    writers: BTreeSet<String>,
    readers: BTreeSet<String>,
}

impl Finding {
    /// What is touched less than `often` is not touched by every message.
    pub(crate) fn new(
        case: &'static Case,
        messages: u64,
        often: u64,
        trace: &Trace,
        symbols: &Symbols,
    ) -> Self {
        let flows = [0, 1].map(|flow: usize| {
            let flow = &trace.flows[flow];
            FlowCost {
                instructions_each: flow.instructions / messages,
                lines_written: flow.lines.values().filter(|it| it.writes >= often).count(),
            }
        });
        let shared = trace.shared(often);
        let shared = shared.iter().map(|shared| Line::new(shared, often, trace, symbols)).collect();
        Self { case, messages, flows, shared }
    }

    /// Whether it is as it is to be.
    pub(crate) fn is_well(&self) -> bool {
        match self.case.expected {
            Expected::Nothing => self.shared.is_empty(),
            Expected::Something => true,
            Expected::Planted => !self.shared.is_empty(),
        }
    }

    /// An object for a machine.
    pub(crate) fn json(&self) -> Value {
        let flows = self.flows.iter().map(|flow| {
            json!({"instructions_each": flow.instructions_each, "lines_written": flow.lines_written})
        });
        let shared = self.shared.iter().map(|line| {
            json!({
                "address": format!("{:#x}", line.address),
                "memory": line.memory,
                "writes": line.writes,
                "writers": line.writers,
                "readers": line.readers,
            })
        });
        json!({
            "case": self.case.name,
            "messages": self.messages,
            "flows": flows.collect::<Vec<_>>(),
            "shared": shared.collect::<Vec<_>>(),
            "ok": self.is_well(),
        })
    }

    /// A line for a person, and one for each shared line of memory and for each place that touches it.
    pub(crate) fn text(&self) -> String {
        let lines = |count| if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
        let shared = match self.shared.len() {
            0 => "nothing".to_owned(),
            count => lines(count),
        };
        let remark = match (self.is_well(), self.case.expected) {
            (true, Expected::Nothing) => "",
            (true, Expected::Something) => ", as is known",
            (true, Expected::Planted) => ", as was planted",
            (false, Expected::Planted) => ": what was planted was NOT FOUND",
            (false, _) => ": NOT WANTED",
        };
        let mut text = format!("{:<14} {}\n", self.case.name, self.case.about);
        let [one, other] = &self.flows;
        let _ = writeln!(
            text,
            "{:<14} of {} and {} lines that {} messages of each flow write, both touch {shared}{remark}",
            "", one.lines_written, other.lines_written, self.messages
        );
        if self.case.expected == Expected::Something {
            for (place, lines) in self.writers() {
                let _ = writeln!(text, "  {lines:>3} written by {place}");
            }
            return text;
        }
        for line in &self.shared {
            let [one, other] = line.writes;
            let _ = writeln!(
                text,
                "  {:#x}, written {one} and {other} times: {}",
                line.address, line.memory
            );
            for (kind, places) in [("written", &line.writers), ("read", &line.readers)] {
                for place in places {
                    let _ = writeln!(text, "    {kind:<8} {place}");
                }
            }
        }
        text
    }

    /// How many of the lines each place writes.
    fn writers(&self) -> BTreeMap<&str, usize> {
        let mut writers = BTreeMap::new();
        for place in self.shared.iter().flat_map(|line| &line.writers) {
            *writers.entry(place.as_str()).or_default() += 1;
        }
        writers
    }
}

impl Line {
    fn new(shared: &Shared, often: u64, trace: &Trace, symbols: &Symbols) -> Self {
        let address = shared.line * LINE_LEN;
        let places = |wanted: bool| {
            let sites =
                trace.flows.iter().filter_map(|flow| flow.sites.get(&shared.line)).flatten();
            sites
                .filter(|((_, writes), times)| *writes == wanted && **times >= often)
                .map(|((code, _), _)| symbols.code(*code))
                .collect()
        };
        Self {
            address,
            memory: symbols.memory(address),
            writes: shared.writes,
            writers: places(true),
            readers: places(false),
        }
    }
}

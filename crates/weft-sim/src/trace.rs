//! A line for each thing that happens, for those who look into a seed.

/// Where the lines go.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) on: bool,
}

impl Trace {
    /// Writes a line to stderr, if anybody wants to see it.
    pub(crate) fn line(&self, now_us: u64, text: impl FnOnce() -> String) {
        if self.on {
            eprintln!("{:>12.6} {}", now_us as f64 / 1e6, text());
        }
    }
}

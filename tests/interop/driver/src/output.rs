//! The way out for responses and events: standard output.

use std::io::Write;

use serde_json::Value;

/// Writes one line. Lines are whole, whoever writes them.
pub(crate) fn write(message: &Value) {
    let mut line = message.to_string();
    line.push('\n');
    let mut out = std::io::stdout().lock();
    // If the test has gone, the end of standard input tells the rest.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

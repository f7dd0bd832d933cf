//! What `weft get` and `weft put` do with `--quorum`.

use std::thread;

use serde_json::json;
use weft::quorum::REPLIERS_MAX;
use weft::{Agreement, ErrorKind, Session};

use crate::context::Context;
use crate::ending::Reason;
use crate::failure::Failure;
use crate::render::Shown;

/// Sizes of quorums.
pub(super) const QUORUM: fn(&str) -> Result<u16, String> = size;

fn size(text: &str) -> Result<u16, String> {
    let sizes = 1..=REPLIERS_MAX;
    let size = text.parse().ok().filter(|size| sizes.contains(&usize::from(*size)));
    size.ok_or_else(|| format!("a quorum is a number from 1 to {REPLIERS_MAX}"))
}

/// Does `work`, which waits for others, and closes the session: to end the command is to end the work.
///
/// # Errors
/// That of the work, or if a signal or the end of the time came first.
pub(super) fn wait<T: Send>(
    context: &Context,
    session: &Session,
    work: impl FnOnce() -> weft::Result<T> + Send,
) -> Result<T, Failure> {
    let outcome = thread::scope(|scope| {
        let working = scope.spawn(|| {
            let outcome = work();
            context.ending.end(Reason::Done);
            outcome
        });
        context.ending.wait();
        session.close().wait();
        working.join().expect("the library does not panic")
    });
    context.ending.check_signal()?;
    outcome.map_err(|error| match error.kind() {
        ErrorKind::SessionClosed => Failure::Run("the time is over and there is no quorum".into()),
        _ => error.into(),
    })
}

/// Shows what is agreed on, and what is not.
///
/// # Errors
/// If there is a key without a quorum.
pub(super) fn show(context: &Context, agreement: &Agreement, wanted: usize) -> Result<(), Failure> {
    for sample in &agreement.samples {
        let shown = Shown::from(sample);
        context.output.result(|| shown.line(), || shown.json("agreed"));
    }
    for (key, got) in &agreement.short {
        context.output.result(
            || format!("SHORT {key}: {got} of {wanted}"),
            || json!({ "type": "short", "key": key.as_str(), "got": got, "wanted": wanted }),
        );
    }
    match agreement.short.len() {
        0 => Ok(()),
        count => Err(Failure::Run(format!("no quorum for {count} of the keys"))),
    }
}

//! `weft admin get`: what nodes say of themselves.

use clap::Args;
use serde_json::json;

use super::{Answer, Asking, silence};
use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;

/// Show what nodes say of themselves
///
/// WHAT is a key below that of the node: nothing for the node and its sessions, `faces` for counters by neighbour,
/// `queues`, `metrics`, `linkstate/**`, `subscriber/**` (publisher, queryable, querier, token), `route/**`, `config/**`;
/// or a whole selector that begins with `@/`. JSON: {"type":"admin","key":…,"zid":…,"mode":…,"encoding":…,"value":…},
/// the value being text if it is no JSON.
#[derive(Args, Debug)]
pub(super) struct Get {
    /// What to ask for
    #[arg(default_value = "")]
    what: String,
    #[command(flatten)]
    asking: Asking,
    #[command(flatten)]
    limits: Limits,
}

impl Get {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let session = self.asking.open(context, self.limits)?;
        // Text that people and scripts can read; a node that does not know the parameter ignores it.
        let plain = if self.what.contains('?') { "" } else { "?compression=false" };
        let what = format!("{}{plain}", self.what);
        let answers = if self.what.starts_with("@/") {
            self.asking.ask_key(&session, &what)?
        } else {
            self.asking.ask(&session, &what)?
        };
        let outcome =
            if answers.is_empty() { Err(silence(&session, self.asking.node)) } else { Ok(()) };
        for answer in &answers {
            context.ending.counted(|| context.output.result(|| text(answer), || json(answer)));
        }
        session.close().wait();
        outcome
    }
}

fn text(answer: &Answer) -> String {
    let value = answer.value();
    let text = match value.as_str() {
        Some(text) => text.trim_end().to_owned(),
        None => serde_json::to_string_pretty(&value).unwrap_or_default(),
    };
    format!("{}\n{text}", answer.key)
}

fn json(answer: &Answer) -> serde_json::Value {
    json!({
        "type": "admin",
        "key": answer.key.as_str(),
        "zid": answer.zid(),
        "mode": answer.mode(),
        "encoding": answer.encoding.to_string(),
        "value": answer.value(),
    })
}

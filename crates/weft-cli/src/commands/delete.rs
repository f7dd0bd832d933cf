//! `weft delete`: one deletion.

use clap::Args;
use serde_json::json;
use weft::KeyExpr;

use crate::arguments::Quality;
use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;
use crate::session::SessionArgs;

/// Publish once that a key has no value any more
///
/// JSON: {"type":"delete","key":…}.
#[derive(Args, Debug)]
pub(crate) struct Delete {
    /// Key, or key expression, to delete
    #[arg(short, long, default_value = "demo/example/weft-put")]
    key: KeyExpr,
    /// Sends this along
    #[arg(long, value_name = "TEXT")]
    attachment: Option<String>,
    #[command(flatten)]
    quality: Quality,
    #[command(flatten)]
    session: SessionArgs,
}

impl Delete {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let session = context.open_for_once(&self.session, Limits::default())?;
        let mut delete = session
            .delete(&self.key)
            .priority(self.quality.priority.into())
            .congestion_control(self.quality.congestion.into())
            .express(self.quality.express)
            .reliability(self.quality.reliability.into());
        if let Some(attachment) = self.attachment {
            delete = delete.attachment(attachment);
        }
        delete.wait()?;
        context.output.result(
            || format!("DELETE {}", self.key),
            || json!({ "type": "delete", "key": self.key.as_str() }),
        );
        session.close().wait();
        Ok(())
    }
}

//! `weft admin put`: changing a node while it runs.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};
use weft::{CongestionControl, Session};

use super::{Answer, Asking, check_value};
use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;

/// Change the configuration of a running node
///
/// Rules (`access_control`, `downsampling`, `low_pass_filter`, `qos/network`), `connect/endpoints`, weights of links and the
/// permissions of the admin space take effect at once; nothing else can be changed. `downsampling/id=NAME` is the object
/// of the list that has this id. The node must allow it: `weft router --adminspace-permissions rw`. JSON:
/// {"type":"admin_put","zid":…,"path":…,"changed":{PATH:VALUE}}, null instead of the object for a node that does not tell.
#[derive(Args, Debug)]
pub(super) struct Put {
    /// What to change, such as downsampling
    path: String,
    /// The value, in JSON5
    #[arg(required_unless_present = "delete")]
    value: Option<String>,
    /// Unsets it instead
    #[arg(long, conflicts_with = "value")]
    delete: bool,
    #[command(flatten)]
    asking: Asking,
    #[command(flatten)]
    limits: Limits,
}

type Values = BTreeMap<String, Value>;

impl Put {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let is_item = self.path.contains('=');
        if let Some(value) = self.value.as_deref().filter(|_| !is_item) {
            check_value(&self.path, value)?;
        }
        let session = self.asking.open(context, self.limits)?;
        let outcome = self.change(context, &session);
        session.close().wait();
        outcome
    }

    fn change(&self, context: &Context, session: &Session) -> Result<(), Failure> {
        let root = self.asking.root(session)?;
        let before = self.values(session, &root)?;
        self.send(session, &root)?;
        // On the same way as the write, and behind it.
        let after = self.values(session, &root)?;
        let changed: Values =
            after.into_iter().filter(|(path, value)| before.get(path) != Some(value)).collect();
        if before.is_empty() {
            let line = || format!("sent to {}, which does not tell what it does", root.zid());
            context.output.result(line, || self.json(&root, &Value::Null));
            return Ok(());
        }
        if changed.is_empty() && !self.is_so(&before) {
            let text = "the node has not changed it: it allows no writes (adminspace/permissions/write, \
                        `weft router --adminspace-permissions rw`), or the value is none that can be changed while it \
                        runs; its log says which";
            return Err(Failure::Run(text.to_owned()));
        }
        let line = || {
            if changed.is_empty() {
                return format!("{} of {} is so already", self.path, root.zid());
            }
            let lines = changed.iter().map(|(path, value)| format!("{path}: {value}"));
            lines.collect::<Vec<_>>().join("\n")
        };
        context.output.result(line, || self.json(&root, &json!(changed)));
        Ok(())
    }

    fn json(&self, root: &Answer, changed: &Value) -> Value {
        json!({ "type": "admin_put", "zid": root.zid(), "path": self.path, "changed": changed })
    }

    /// The values that the node tells; none if it is of another implementation.
    fn values(&self, session: &Session, root: &Answer) -> Result<Values, Failure> {
        let answers = self.asking.ask_key(session, &format!("{}/config/**", root.key))?;
        let path = |answer: &Answer| answer.suffix().trim_start_matches("config/").to_owned();
        Ok(answers.iter().map(|answer| (path(answer), answer.value())).collect())
    }

    fn send(&self, session: &Session, root: &Answer) -> Result<(), Failure> {
        let key = format!("{}/config/{}", root.key, self.path);
        let put = match &self.value {
            Some(value) => session.put(key, value.as_str()),
            None => session.delete(key),
        };
        Ok(put.congestion_control(CongestionControl::Block).wait()?)
    }

    /// Whether the value is what it is to be.
    fn is_so(&self, values: &Values) -> bool {
        let wanted = self.value.as_deref().and_then(|value| {
            let config = check_value(&self.path, value).ok()?;
            serde_json::from_str::<Value>(&config.json(&self.path).ok()?).ok()
        });
        wanted.is_some_and(|wanted| values.get(&self.path) == Some(&wanted))
    }
}

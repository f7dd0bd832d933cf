//! How a queryable answers: the rules of the protocol's `declare_queryable`.

use std::time::Duration;

use weft::{Encoding, KeyExpr, Query, Timestamp, ZBytes};

use crate::fields::{Failure, Fields};
use crate::values::{self, set};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Put,
    Delete,
    Error,
}

/// One of the replies that every query gets.
pub(crate) struct Rule {
    kind: Kind,
    key: Option<String>,
    payload: ZBytes,
    encoding: Option<Encoding>,
    attachment: Option<ZBytes>,
    timestamp: Option<Timestamp>,
    express: Option<bool>,
    echo: bool,
    count: u64,
    delay: Duration,
}

impl Rule {
    pub(crate) fn take(mut fields: Fields) -> Result<Self, Failure> {
        let kind = match fields.take_if_any::<String>("kind")?.as_deref() {
            None | Some("put") => Kind::Put,
            Some("delete") => Kind::Delete,
            Some("error") => Kind::Error,
            Some(other) => return Err(Failure::bad_request(format!("no kind `{other}` of reply"))),
        };
        let rule = Self {
            kind,
            key: fields.take_if_any("key")?,
            payload: values::payload(&mut fields)?.unwrap_or_default(),
            encoding: values::encoding(&mut fields)?,
            attachment: values::bytes(&mut fields, "attachment")?,
            timestamp: values::timestamp(&mut fields, None)?,
            express: fields.take_if_any("express")?,
            echo: fields.take_if_any("echo")?.unwrap_or_default(),
            count: fields.take_if_any("count")?.unwrap_or(1),
            delay: Duration::from_millis(fields.take_if_any("delay_ms")?.unwrap_or_default()),
        };
        fields.end()?;
        Ok(rule)
    }
}

/// All rules of a queryable.
pub(crate) struct Rules {
    pub(crate) own_key: KeyExpr,
    pub(crate) replies: Vec<Rule>,
    pub(crate) finalize_delay: Duration,
}

impl Rules {
    /// Whether answering takes time, which is not the delivering thread's.
    pub(crate) fn is_slow(&self) -> bool {
        !self.finalize_delay.is_zero() || self.replies.iter().any(|rule| !rule.delay.is_zero())
    }

    /// Answers a query and lets go of it.
    pub(crate) fn answer(&self, query: Query) {
        for rule in &self.replies {
            for number in 0..rule.count {
                std::thread::sleep(rule.delay);
                if let Err(error) = self.reply(rule, number, &query) {
                    eprintln!("cannot reply: {error}");
                }
            }
        }
        std::thread::sleep(self.finalize_delay);
        drop(query);
    }

    fn reply(&self, rule: &Rule, number: u64, query: &Query) -> weft::Result<()> {
        let key = rule.key.as_deref().unwrap_or(self.own_key.as_str());
        let key = key.replace("{i}", &number.to_string());
        let (payload, encoding, attachment) = if rule.echo {
            let payload = query.payload().cloned().unwrap_or_default();
            let encoding = query.encoding().cloned().unwrap_or_default();
            (payload, Some(encoding), query.attachment().cloned())
        } else {
            (rule.payload.clone(), rule.encoding.clone(), rule.attachment.clone())
        };
        if rule.kind == Kind::Error {
            let reply = query.reply_err(payload);
            set!(reply.encoding = encoding);
            return reply.wait();
        }
        let reply = match rule.kind {
            Kind::Delete => query.reply_del(key),
            _ => query.reply(key, payload),
        };
        set!(
            reply.encoding = encoding,
            attachment = attachment,
            timestamp = rule.timestamp,
            express = rule.express,
        );
        reply.wait()
    }
}

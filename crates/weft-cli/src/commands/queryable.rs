//! `weft queryable`: answers every query with the same value.

use clap::Args;
use weft::{Encoding, KeyExpr, Query, ZBytes};

use super::put::payload;
use crate::arguments::Beside;
use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;
use crate::output::{Output, say};
use crate::render;
use crate::session::SessionArgs;

/// Answer queries with a value, and show the queries
///
/// A line is QUERY SELECTOR, then the payload if there is one. JSON: {"type":"query","key":…,"parameters":…,"payload":…,
/// "encoding":…,"attachment":…}.
#[derive(Args, Debug)]
pub(crate) struct Queryable {
    /// Key expression to answer for, and key of the answers
    #[arg(short, long, default_value = "demo/example/weft-queryable")]
    key: KeyExpr,
    /// Payload of the answers, or - for all of standard input
    #[arg(
        short,
        long,
        value_name = "TEXT",
        default_value = "Queryable from Weft!",
        allow_hyphen_values = true
    )]
    payload: String,
    #[command(flatten)]
    beside: Beside,
    /// Declares that it has an answer for all of its key expression
    #[arg(long)]
    complete: bool,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    limits: Limits,
}

impl Queryable {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let payload = ZBytes::from(payload(self.payload)?);
        let session = context.open(&self.session, self.limits)?;
        let (output, ending) = (context.output.clone(), context.ending.clone());
        let (key, attachment) = (self.key.clone(), self.beside.attachment);
        let encoding = self.beside.encoding.unwrap_or_default();
        let _queryable = session
            .declare_queryable(&self.key)
            .complete(self.complete)
            .callback(move |query| {
                ending.counted(|| {
                    show_query(&output, &query);
                    let answer = Answer {
                        key: &key,
                        payload: &payload,
                        encoding: &encoding,
                        attachment: attachment.as_deref(),
                    };
                    if let Err(error) = answer.send(&query) {
                        tracing::warn!("cannot answer `{query}`: {error}");
                    }
                });
            })
            .wait()?;
        say(&format_args!("answering for '{}'", self.key));
        context.ending.wait();
        session.close().wait();
        Ok(())
    }
}

/// What every query is answered with.
struct Answer<'a> {
    key: &'a KeyExpr,
    payload: &'a ZBytes,
    encoding: &'a Encoding,
    attachment: Option<&'a str>,
}

impl Answer<'_> {
    /// Answers a query as far as its `_filter` and `_project` want it.
    fn send(&self, query: &Query) -> weft::Result<()> {
        let (payload, encoding) = match query.select(self.payload, self.encoding) {
            Ok(Some(selected)) => selected,
            Ok(None) => return Ok(()),
            Err(error) => return refuse(query, error.to_json()),
        };
        let mut reply = query.reply(self.key, payload).encoding(encoding);
        if let Some(attachment) = self.attachment {
            reply = reply.attachment(attachment);
        }
        reply.wait()
    }
}

/// Answers that the query cannot be understood.
pub(super) fn refuse(query: &Query, json: String) -> weft::Result<()> {
    query.reply_err(json).encoding(Encoding::APPLICATION_JSON).wait()
}

/// Shows a query.
pub(super) fn show_query(output: &Output, query: &Query) {
    let payload = query.payload().map(ZBytes::to_bytes);
    output.result(
        || {
            let payload = payload.as_ref().map(|it| format!(": {}", render::text(it)));
            format!("QUERY {query}{}", payload.unwrap_or_default())
        },
        || {
            let mut fields = render::record("query");
            fields.insert("key".into(), query.key_expr().as_str().into());
            fields.insert("parameters".into(), query.parameters().as_str().into());
            if let Some(payload) = &payload {
                render::insert_bytes(&mut fields, "payload", payload);
            }
            if let Some(encoding) = query.encoding() {
                fields.insert("encoding".into(), encoding.to_string().into());
            }
            if let Some(attachment) = query.attachment() {
                render::insert_bytes(&mut fields, "attachment", &attachment.to_bytes());
            }
            fields.into()
        },
    );
}

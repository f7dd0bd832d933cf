//! `weft admin`: looking into nodes and changing them while they run.
//!
//! Not here: what nodes answer (the library). What is here works on nodes of other implementations as far as they
//! answer the same.

mod explain;
mod get;
mod graph;
mod put;
mod top;

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::Value;
use weft::{
    Config, Consolidation, Encoding, KeyExpr, QueryTarget, Selector, Session, WhatAmI, ZenohId,
};

use crate::arguments::some_seconds;
use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;
use crate::output::say;
use crate::session::SessionArgs;

/// Look into running nodes, and change them
///
/// Every node with `adminspace/enabled` answers, and every `weft router`; `weft admin` may be connected to any of them.
#[derive(Args, Debug)]
pub(crate) struct Admin {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Get(get::Get),
    Put(put::Put),
    Explain(explain::Explain),
    Graph(graph::Graph),
    Top(top::Top),
}

impl Admin {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        match self.command {
            Command::Get(command) => command.run(context),
            Command::Put(command) => command.run(context),
            Command::Explain(command) => command.run(context),
            Command::Graph(command) => command.run(context),
            Command::Top(command) => command.run(context),
        }
    }
}

/// Whom is asked, and how long.
#[derive(Args, Clone, Debug)]
struct Asking {
    /// The node that is meant, by its identity
    #[arg(long, value_name = "HEX")]
    node: Option<ZenohId>,
    /// How long answers may take, in seconds
    #[arg(short = 'o', long, value_name = "SECONDS", default_value = "3", value_parser = some_seconds, allow_negative_numbers = true)]
    timeout: Duration,
    #[command(flatten)]
    session: SessionArgs,
}

/// One thing that a node says.
#[derive(Debug)]
struct Answer {
    key: KeyExpr,
    encoding: Encoding,
    payload: Vec<u8>,
}

impl Answer {
    /// The identity of the node that it is about.
    fn zid(&self) -> &str {
        self.key.as_str().split('/').nth(1).unwrap_or_default()
    }

    /// The mode of the node that it is about.
    fn mode(&self) -> &str {
        self.key.as_str().split('/').nth(2).unwrap_or_default()
    }

    /// What is asked for below the node's own key.
    fn suffix(&self) -> &str {
        self.key.as_str().splitn(4, '/').nth(3).unwrap_or_default()
    }

    /// The value, if it is JSON; else its text, as far as it is text.
    fn value(&self) -> Value {
        let text = || Value::from(String::from_utf8_lossy(&self.payload));
        if self.encoding == Encoding::APPLICATION_JSON {
            serde_json::from_slice(&self.payload).unwrap_or_else(|_| text())
        } else {
            text()
        }
    }
}

impl Asking {
    fn open(&self, context: &Context, limits: Limits) -> Result<Session, Failure> {
        context.open_for_once(&self.session, limits)
    }

    /// What nodes answer to `suffix`: the named one, or all.
    fn ask(&self, session: &Session, suffix: &str) -> Result<Vec<Answer>, Failure> {
        let node = self.node.map_or("*".to_owned(), |node| node.to_string());
        self.ask_key(session, &below(&node, suffix))
    }

    /// What is answered to a whole selector, by keys.
    fn ask_key(&self, session: &Session, selector: &str) -> Result<Vec<Answer>, Failure> {
        let selector: Selector = selector.parse().map_err(weft::Error::from)?;
        let get = session.get(selector).target(QueryTarget::All);
        let get = get.consolidation(Consolidation::None).timeout(self.timeout);
        let mut answers = Vec::new();
        for reply in &get.wait()? {
            match reply.result() {
                Ok(sample) => answers.push(Answer {
                    key: sample.key_expr().clone(),
                    encoding: sample.encoding().clone(),
                    payload: sample.payload().to_bytes().to_vec(),
                }),
                Err(error) if error.is_timeout() => {
                    say(&"warning: not all nodes have answered in time (--timeout)");
                }
                Err(error) => {
                    let text = error.payload().to_bytes();
                    say(&format_args!("warning: {}", String::from_utf8_lossy(&text)));
                }
            }
        }
        answers.sort_by(|a, b| a.key.cmp(&b.key));
        answers.dedup_by(|a, b| a.key == b.key);
        Ok(answers)
    }

    /// The one node that is meant: the named one, else the only router or the only node that this session is linked
    /// with, else the only one that answers.
    fn root(&self, session: &Session) -> Result<Answer, Failure> {
        let linked = || {
            let info = session.info();
            let routers = info.routers_zid();
            match (&routers[..], &info.neighbours()[..]) {
                ([router], _) => Some(*router),
                (_, [only]) => Some(only.transport.zid()),
                _ => None,
            }
        };
        let node = self.node.or_else(linked);
        let mut roots = Self { node, ..self.clone() }.ask(session, "")?;
        match (roots.len(), node) {
            (1, _) => Ok(roots.remove(0)),
            (0, _) => Err(silence(session, node)),
            _ => {
                let all: Vec<&str> = roots.iter().map(Answer::zid).collect();
                let text = format!("which node? name one with --node: {}", all.join(", "));
                Err(Failure::Usage(text))
            }
        }
    }
}

/// The key of something that a node, or any node, says.
fn below(node: &str, suffix: &str) -> String {
    let slash = if suffix.is_empty() || suffix.starts_with('?') { "" } else { "/" };
    format!("@/{node}/*{slash}{suffix}")
}

/// Why nobody may have answered.
fn silence(session: &Session, node: Option<ZenohId>) -> Failure {
    if session.info().neighbours().is_empty() {
        let text = "no node is connected; name one with --connect, such as tcp/HOST:7447";
        return Failure::Run(text.to_owned());
    }
    let who = node.map_or("no node".to_owned(), |node| format!("{node} is not there or"));
    let verb = if node.is_some() { "does not answer" } else { "answers" };
    Failure::Run(format!(
        "{who} {verb}: it needs adminspace/enabled and adminspace/permissions/read (`weft router` has both), and what is \
         asked for has to exist"
    ))
}

/// Whether a configuration would take a value; the error says why not.
fn check_value(path: &str, value: &str) -> Result<Config, Failure> {
    let mut config = Config::default();
    config.set_mode(WhatAmI::Router);
    config.insert_json5(path, value)?;
    Ok(config)
}

//! `weft liveliness`: tokens that say that something is alive, and those who watch them.

use std::time::Duration;

use clap::{Args, Subcommand};
use weft::{KeyExpr, Sample};

use super::get::Replies;
use crate::arguments::seconds;
use crate::context::Context;
use crate::ending::{Limits, TimeLimit};
use crate::failure::Failure;
use crate::output::{Output, say};
use crate::render;
use crate::session::SessionArgs;

/// Declare or watch liveliness tokens
#[derive(Args, Debug)]
pub(crate) struct Liveliness {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Token(Token),
    Sub(Sub),
    Get(Get),
}

impl Liveliness {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        match self.command {
            Command::Token(command) => command.run(context),
            Command::Sub(command) => command.run(context),
            Command::Get(command) => command.run(context),
        }
    }
}

/// Declare a token, and keep it alive
#[derive(Args, Debug)]
struct Token {
    /// Key of the token
    #[arg(short, long, default_value = "group1/weft")]
    key: KeyExpr,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    time: TimeLimit,
}

impl Token {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let session = context.open(&self.session, Limits::of_time(self.time.duration))?;
        let token = session.liveliness().declare_token(&self.key).wait()?;
        say(&format_args!("token '{}' is alive", self.key));
        context.ending.wait();
        token.undeclare();
        session.close().wait();
        Ok(())
    }
}

/// Show tokens that appear and disappear
///
/// A line is ALIVE KEY or GONE KEY. JSON: {"type":"token","alive":…,"key":…}.
#[derive(Args, Debug)]
struct Sub {
    /// Key expression of the tokens
    #[arg(short, long, default_value = "group1/**")]
    key: KeyExpr,
    /// Shows those first that are alive already
    #[arg(long)]
    history: bool,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    limits: Limits,
}

impl Sub {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let session = context.open(&self.session, self.limits)?;
        let (output, ending) = (context.output.clone(), context.ending.clone());
        let _subscriber = session
            .liveliness()
            .declare_subscriber(&self.key)
            .history(self.history)
            .callback(move |token| ending.counted(|| show(&output, &token)))
            .wait()?;
        say(&format_args!("watching tokens of '{}'", self.key));
        context.ending.wait();
        session.close().wait();
        Ok(())
    }
}

/// Show the tokens that are alive
///
/// A line is ALIVE KEY. JSON: {"type":"token","alive":true,"key":…}.
#[derive(Args, Debug)]
struct Get {
    /// Key expression of the tokens
    #[arg(short, long, default_value = "group1/**")]
    key: KeyExpr,
    /// How long answers may take, in seconds [default: 10, or what the configuration says]
    #[arg(short = 'o', long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    limits: Limits,
}

impl Get {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let session = context.open_for_once(&self.session, self.limits)?;
        let liveliness = session.liveliness();
        let mut get = liveliness.get(&self.key);
        if let Some(timeout) = self.timeout {
            get = get.timeout(timeout);
        }
        let replies = Replies::new(context);
        get.with(replies.callback(|output, _, token| show(output, token))).wait()?;
        let outcome = replies.wait();
        session.close().wait();
        outcome
    }
}

fn show(output: &Output, token: &Sample) {
    let (line, json) = render::token(token);
    output.result(|| line, || json);
}

//! The command line: its definition, from which help, completions and man pages come, and its dispatch.

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::commands::admin::Admin;
use crate::commands::bench::Bench;
use crate::commands::bench_role;
use crate::commands::check_config::CheckConfig;
use crate::commands::completions::Completions;
use crate::commands::delete::Delete;
use crate::commands::demo::Demo;
use crate::commands::dissect::Dissect;
use crate::commands::get::Get;
use crate::commands::info::Info;
use crate::commands::liveliness::Liveliness;
use crate::commands::man::Man;
use crate::commands::ping::Ping;
use crate::commands::pong::Pong;
use crate::commands::publish::Publish;
use crate::commands::put::Put;
use crate::commands::queryable::Queryable;
use crate::commands::router::Router;
use crate::commands::scout::Scout;
use crate::commands::storage::Storage;
use crate::commands::subscribe::Subscribe;
use crate::context::Context;
use crate::failure::Failure;
use crate::logging::{self, LogFormat};

/// Publish, subscribe, query and store with the Zenoh protocol.
#[derive(Parser, Debug)]
#[command(
    name = "weft",
    version,
    after_help = "`weft demo` shows all of it in a few seconds. `weft COMMAND --help` tells more about a command."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Writes results as JSON, one object a line; what is for people goes to standard error
    #[arg(long, global = true, help_heading = "Output")]
    json: bool,
    /// What to log on standard error, such as info or warn,weft=debug [default: RUST_LOG, or warn]
    #[arg(long, global = true, value_name = "LEVELS", help_heading = "Output")]
    log: Option<String>,
    /// How the log and all else on standard error is written
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        help_heading = "Output"
    )]
    log_format: LogFormat,
}

#[derive(Subcommand, Debug)]
enum Command {
    Router(Router),
    Pub(Publish),
    Sub(Subscribe),
    Put(Put),
    Delete(Delete),
    Get(Get),
    Queryable(Queryable),
    Storage(Storage),
    Liveliness(Liveliness),
    Scout(Scout),
    Info(Info),
    Admin(Admin),
    Ping(Ping),
    Pong(Pong),
    Dissect(Dissect),
    Demo(Demo),
    Bench(Bench),
    CheckConfig(CheckConfig),
    Completions(Completions),
    Man(Man),
}

/// Does what the command line says.
///
/// # Errors
/// Whatever kept it from that.
pub(crate) fn run() -> Result<(), Failure> {
    if std::env::args_os().nth(1).is_some_and(|word| word == bench_role::NAME) {
        return bench_role::run();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version that were asked for.
        Err(error) if !error.use_stderr() => return Ok(error.print()?),
        Err(_) if std::env::args_os().len() == 1 => return Ok(Cli::command().print_help()?),
        Err(error) => return Err(error.into()),
    };
    logging::start(cli.log.as_deref(), cli.log_format)?;
    let context = Context::new(cli.json);
    let done = match cli.command {
        Command::Router(command) => command.run(&context),
        Command::Pub(command) => command.run(&context),
        Command::Sub(command) => command.run(&context),
        Command::Put(command) => command.run(&context),
        Command::Delete(command) => command.run(&context),
        Command::Get(command) => command.run(&context),
        Command::Queryable(command) => command.run(&context),
        Command::Storage(command) => command.run(&context),
        Command::Liveliness(command) => command.run(&context),
        Command::Scout(command) => command.run(&context),
        Command::Info(command) => command.run(&context),
        Command::Admin(command) => command.run(&context),
        Command::Ping(command) => command.run(&context),
        Command::Pong(command) => command.run(&context),
        Command::Dissect(command) => command.run(&context),
        Command::Demo(command) => command.run(&context),
        Command::Bench(command) => command.run(&context),
        Command::CheckConfig(command) => command.run(&context),
        Command::Completions(command) => command.run(&context),
        Command::Man(command) => command.run(&context),
    };
    context.ending.explain(done).and_then(|()| context.output.check())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }
}

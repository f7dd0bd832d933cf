//! `weft completions`: completion scripts for shells, from the definition of the command line.

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use crate::cli::Cli;
use crate::context::Context;
use crate::failure::Failure;

/// Write a completion script for a shell
///
/// For bash: weft completions bash > ~/.local/share/bash-completion/completions/weft
#[derive(Args, Debug)]
pub(crate) struct Completions {
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        context.output.refuse_json()?;
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "weft", &mut script);
        super::write_all(&script)
    }
}

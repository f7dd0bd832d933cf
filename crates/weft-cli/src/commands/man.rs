//! `weft man`: man pages, from the definition of the command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _};

use crate::cli::Cli;
use crate::context::Context;
use crate::failure::Failure;

/// Write the man page of weft, or those of all its commands
///
/// To read it: weft man | man -l -
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Writes a page for weft and for each command into this directory, instead of one to standard output
    #[arg(long)]
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        context.output.refuse_json()?;
        if let Some(dir) = self.dir {
            return clap_mangen::generate_to(Cli::command(), &dir)
                .map_err(|error| Failure::Run(format!("{}: {error}", dir.display())));
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page)?;
        super::write_all(&page)
    }
}

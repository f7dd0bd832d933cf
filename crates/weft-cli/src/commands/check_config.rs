//! `weft check-config`: what a configuration means, and what is odd about it.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use weft::WhatAmI;
use weft::config::{Config, Remark};

use crate::context::Context;
use crate::failure::Failure;

/// Check a configuration file, and explain its rules
///
/// It is read as `weft router` would read it: a file that says no mode is for a router. Each rule of
/// access control and traffic shaping is explained in one line; what can never match, is taken
/// everything from by others, or is referred to by nothing, is warned of. A file that cannot be used is
/// status 2, like any wrong configuration; warnings are not.
/// JSON: {"type":"rule","path":…,"text":…}, {"type":"warning","path":…,"text":…} where path may be null,
/// and at the end {"type":"checked","file":…,"mode":…,"rules":…,"warnings":…}.
#[derive(Args, Debug)]
pub(crate) struct CheckConfig {
    /// JSON5 or YAML, by its ending
    file: PathBuf,
}

impl CheckConfig {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let mut config = Config::from_file(&self.file)?;
        if !config.has_mode() {
            config.set_mode(WhatAmI::Router);
        }
        let in_file = |error| Failure::Usage(format!("{}: {error}", self.file.display()));
        let rules = config.explain_rules().map_err(in_file)?;
        let lints = config.lint_rules().map_err(in_file)?;
        for Remark { path, text } in &rules {
            context.output.result(
                || format!("{path}: {text}"),
                || json!({"type": "rule", "path": path, "text": text}),
            );
        }
        let inert = config.warnings();
        for text in &inert {
            context.output.result(
                || format!("warning: {text}"),
                || json!({"type": "warning", "path": null, "text": text}),
            );
        }
        for Remark { path, text } in &lints {
            context.output.result(
                || format!("warning: {path}: {text}"),
                || json!({"type": "warning", "path": path, "text": text}),
            );
        }
        let (mode, warnings) = (config.mode(), inert.len() + lints.len());
        context.output.result(
            || {
                let file = self.file.display();
                format!(
                    "{file} can be used by a {mode}; rules: {}, warnings: {warnings}",
                    rules.len()
                )
            },
            || {
                json!({
                    "type": "checked",
                    "file": self.file.display().to_string(),
                    "mode": mode.as_str(),
                    "rules": rules.len(),
                    "warnings": warnings,
                })
            },
        );
        Ok(())
    }
}

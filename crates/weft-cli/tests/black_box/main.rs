//! The built binary, from outside: what it prints, how it ends, and that its commands find each other over loopback.
//!
//! Nothing here sleeps: a test waits for a line, with a deadline. Ports are chosen by the system and read from the output.

mod admin;
mod bench;
mod check_config;
mod closing;
mod dissect;
mod documents;
mod liveliness;
mod mistakes;
mod process;
mod publish;
mod query;
mod router;
mod show;

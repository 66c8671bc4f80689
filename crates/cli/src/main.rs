//! The `rag` program: run, resume and check durable agents from one file.
//!
//! Reading order: [`arguments`] (the command line), [`command`] (one file each),
//! [`plan`] (from files to a program) with its [`models`] and [`tools`], [`store`]
//! and [`beside`] (what is kept with threads),
//! [`output`] and [`failure`] (what people and scripts are told), [`chat`] (a
//! conversation at a terminal), [`pages`] (of the error codes), [`templates`] (of new
//! folders), [`doctor`] (what is missing), [`since`] (moments), [`signals`].
//!
//! Invariant: only this crate names concrete providers, tools and stores, writes
//! to the terminal, reads the environment, and ends the process.

mod arguments;
mod beside;
mod chat;
mod command;
mod doctor;
mod failure;
mod models;
mod output;
mod pages;
mod plan;
mod signals;
mod since;
mod store;
mod templates;
mod tools;

use std::{process::ExitCode, time::Duration};

use clap::Parser;

use crate::{
    arguments::{Arguments, Command, Common},
    failure::Failure,
    output::Output,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    let output = Output::new(arguments.common());
    match perform(arguments.command, &output) {
        Ok(code) => code,
        Err(failure) => {
            output.failure(&failure);
            failure.exit_code()
        }
    }
}

fn perform(command: Command, output: &Output) -> Result<ExitCode, Failure> {
    match command {
        Command::Check(arguments) => command::check::check(&arguments, output),
        Command::Graph(arguments) => command::graph::graph(&arguments, output),
        Command::Explain(arguments) => command::explain::explain(&arguments, output),
        Command::New(arguments) => command::new::new(&arguments, output),
        Command::Doctor(arguments) => on_tokio(command::doctor::doctor(&arguments, output)),
        Command::Events(arguments) => on_tokio(command::events::events(&arguments, output)),
        Command::Store(arguments) => on_tokio(command::store::store(&arguments, output)),
        Command::Threads(arguments) => on_tokio(command::threads::threads(&arguments, output)),
        Command::Chat(arguments) => on_tokio(command::chat::chat(&arguments, output)),
        Command::Cancel(arguments) => on_tokio(command::cancel::cancel(&arguments, output)),
        Command::Run(arguments) => on_tokio(command::run::run(&arguments, output)),
        Command::Resume(arguments) => on_tokio(command::resume::resume(&arguments, output)),
    }
}

/// How long work that cannot be stopped may take after everything else is done.
const LAST_MOMENT: Duration = Duration::from_secs(1);

fn on_tokio(work: impl Future<Output = Result<ExitCode, Failure>>) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::internal(&error))?;
    let done = runtime.block_on(work);
    // What blocks a thread, such as the resolver of names, does not hold the end up.
    runtime.shutdown_timeout(LAST_MOMENT);
    done
}

/// Help goes to standard output; a mistake is told like every other one.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if std::env::args_os().any(|argument| argument == "--json") {
        Output::new(&Common::json()).failure(&Failure::usage(error.to_string()));
    } else {
        let text = error.render().to_string();
        Output::new(&Common::default()).usage(text.strip_prefix("error: ").unwrap_or(&text));
    }
    ExitCode::from(2)
}

//! What a command tool declares.

use std::path::PathBuf;

use rustagents_core::tool::ToolSpec;

use super::{environment::Environment, template::Word};

/// One program as a tool.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// What it declares of itself. The schema's root type is an object.
    pub spec: ToolSpec,
    /// The minijinja template of the question to a person.
    pub ask: Option<String>,
    /// The program, and its arguments with `{{ name }}` where an argument of
    /// the call goes. The program is fixed.
    pub command: Vec<Word>,
    /// What the program reads.
    pub stdin: Stdin,
    /// Where a program that is a relative path starts.
    pub base: PathBuf,
    /// The working folder.
    pub folder: PathBuf,
    /// What the program gets of the environment.
    pub environment: Environment,
    /// What the program writes.
    pub output: Output,
}

/// What a program reads on standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing.
    #[default]
    Nothing,
    /// The arguments of the call: canonical JSON and a line break.
    Arguments,
}

/// What a program writes on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// Text; bytes that are not UTF-8 are given in hexadecimal.
    #[default]
    Text,
    /// One JSON value.
    Json,
}

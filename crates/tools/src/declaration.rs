//! What every declared tool has, and what can be wrong with a declaration.

use std::sync::Arc;

use rustagents_core::{
    code::{Code, Coded},
    tool::{MAX_NAME_BYTES, MAX_OUTPUT_BYTES, ToolSpec},
};
use serde_json::Value;

use crate::question::Question;

/// What is offered to the model, and how a person is asked about a call.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) spec: Arc<ToolSpec>,
    question: Option<Question>,
}

impl Offer {
    /// Checks what all kinds of tools declare.
    pub(crate) fn new(spec: ToolSpec, ask: Option<&str>) -> Result<Self, DeclarationError> {
        if !ToolSpec::is_valid_name(&spec.name) {
            return Err(DeclarationError::Name { name: spec.name });
        }
        if spec.input_schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(DeclarationError::SchemaRoot);
        }
        if spec.max_output_bytes > MAX_OUTPUT_BYTES {
            return Err(DeclarationError::MostOutput {
                bytes: spec.max_output_bytes,
            });
        }
        let known = properties(&spec.input_schema);
        let question = ask.map(|ask| Question::new(ask, &known)).transpose()?;
        Ok(Self {
            spec: Arc::new(spec),
            question,
        })
    }

    /// The arguments that the schema declares.
    pub(crate) fn arguments(&self) -> Vec<String> {
        properties(&self.spec.input_schema)
    }

    pub(crate) fn question(&self, arguments: &Value) -> Option<String> {
        self.question.as_ref()?.render(arguments)
    }
}

fn properties(schema: &Value) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(|properties| properties.keys().cloned())
        .collect()
}

/// Why a declaration makes no tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclarationError {
    /// No tool may have this name.
    #[error("`{name}` cannot name a tool")]
    Name {
        /// The name.
        name: String,
    },
    /// The arguments are no object.
    #[error("the arguments are not an object")]
    SchemaRoot,
    /// The data source is not declared.
    #[error("there is no data source `{name}`")]
    UnknownData {
        /// Its name.
        name: String,
    },
    /// This build does not have tools of this kind.
    #[error("this build has no tools of this kind")]
    Kind,
    /// There is no statement.
    #[error("there is no statement")]
    Empty,
    /// There is more than one statement.
    #[error("there is more than one statement")]
    SeveralStatements,
    /// A statement that is not data.
    #[error("a statement cannot start with `{found}`")]
    Keyword {
        /// Its first word.
        found: String,
    },
    /// A parameter without a name, or with another mark than `:`.
    #[error("the parameter `{found}` is not a name after `:`")]
    Parameter {
        /// The parameter as it is written.
        found: String,
    },
    /// A parameter that no argument can fill.
    #[error("the parameter `:{name}` is not an argument")]
    UnknownParameter {
        /// The parameter's name.
        name: String,
        /// The declared arguments.
        known: Vec<String>,
    },
    /// A string or a quoted name without its end.
    #[error("a `{quote}` has no end")]
    OpenQuote {
        /// What opens it.
        quote: char,
    },
    /// SQLite would not see what follows.
    #[error("the statement holds a zero byte")]
    ZeroByte,
    /// SQLite refuses the statement on the database that the seed makes.
    #[error("the statement does not fit the database: {reason}")]
    Sql {
        /// What SQLite says, on one line.
        reason: String,
    },
    /// A statement that writes, in a tool that only reads.
    #[error("the statement writes, but the tool is declared to read only")]
    Writes,
    /// Two values of a row would have one key.
    #[error("two columns of the result are named `{name}`")]
    DuplicateColumn {
        /// The name.
        name: String,
    },
    /// The URL is none that a request can have.
    #[error("the URL cannot be used: {reason}")]
    Url {
        /// What is wrong with it; nothing of its query.
        reason: String,
    },
    /// An argument where none may stand.
    #[error("the URL has `{name}` in {part}, which is fixed")]
    UrlVariable {
        /// The argument's name.
        name: String,
        /// What of the URL that is.
        part: &'static str,
    },
    /// The URL uses something that no argument fills.
    #[error("the URL uses `{name}`, which is not an argument")]
    UnknownUrlVariable {
        /// The variable's name.
        name: String,
        /// The declared arguments.
        known: Vec<String>,
    },
    /// An argument that would never be sent.
    #[error("the argument `{name}` is not in the URL, and a {method} has no body")]
    UnusedArgument {
        /// Its name.
        name: String,
        /// The method.
        method: &'static str,
    },
    /// The URL's host is an address that the tool may not reach.
    #[error("`{host}` is {what}, which the tool may not reach")]
    Address {
        /// The host.
        host: String,
        /// What it is.
        what: &'static str,
    },
    /// There is no such method.
    #[error("there is no method `{found}`")]
    Method {
        /// The method as it is written.
        found: String,
    },
    /// No host and no port.
    #[error("`{found}` is not a host")]
    Host {
        /// The entry as it is written.
        found: String,
    },
    /// A header that cannot be sent.
    #[error("the header `{name}` cannot be declared: {reason}")]
    Header {
        /// Its name.
        name: String,
        /// Why; nothing of its value.
        reason: &'static str,
    },
    /// Redirects of a call that is not made again.
    #[error("the tool follows no redirects")]
    Redirects,
    /// Not even a status fits into the result.
    #[error("the result may have too few bytes to tell how a request ended")]
    OutputBytes,
    /// The result may have more bytes than are recorded in one piece.
    #[error("the result may have {bytes} bytes, more than a record takes")]
    MostOutput {
        /// How many.
        bytes: usize,
    },
    /// The question's template is not one.
    #[error("the question is not a template: {reason}")]
    Question {
        /// What the template engine says.
        reason: String,
        /// The line of the template.
        line: Option<usize>,
    },
    /// The question uses something that no argument fills.
    #[error("the question uses `{name}`, which is not an argument")]
    UnknownVariable {
        /// The variable's name.
        name: String,
        /// The declared arguments.
        known: Vec<String>,
    },
    /// A command without a program, or with one that is not fixed.
    #[error("the program cannot be `{found}`")]
    Program {
        /// The first word of the command.
        found: String,
    },
    /// An argument of a program can hold no zero byte.
    #[error("a word of the command holds a zero byte")]
    WordWithZeroByte,
    /// A `{{` without its end.
    #[error("`{found}` has no `}}}}`")]
    Placeholder {
        /// The word from there.
        found: String,
    },
    /// A placeholder that no argument fills.
    #[error("the command uses `{name}`, which is not an argument")]
    UnknownPlaceholder {
        /// What stands in it.
        name: String,
        /// The declared arguments.
        known: Vec<String>,
    },
    /// A word that must be there, with an argument that need not.
    #[error("the argument `{name}` may be missing, and the command needs it")]
    OptionalPlaceholder {
        /// The argument's name.
        name: String,
    },
    /// A value among the text of a script, which could change the script.
    #[error("a script of `{shell}` cannot hold a placeholder")]
    Script {
        /// The program that reads the script.
        shell: String,
    },
    /// What names no variable of the environment.
    #[error("`{found}` is not a variable of the environment")]
    Variable {
        /// The entry as it is written.
        found: String,
    },
}

impl Coded for DeclarationError {
    fn code(&self) -> Code {
        Code::ToolDeclaration
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Name { .. } => Some(format!(
                "use 1 to {MAX_NAME_BYTES} ASCII letters, digits, `_` and `-`"
            )),
            Self::SchemaRoot => Some("the schema needs `\"type\": \"object\"`".into()),
            Self::SeveralStatements => Some("make a tool of each".into()),
            #[cfg(feature = "sql")]
            Self::Keyword { .. } => Some(format!("start with {}", listed(&crate::sql::KEYWORDS))),
            Self::DuplicateColumn { .. } => Some("name each column with `AS`".into()),
            Self::Parameter { .. } => Some("name it after an argument, such as `:order`".into()),
            Self::UnknownParameter { known, .. }
            | Self::UnknownVariable { known, .. }
            | Self::UnknownUrlVariable { known, .. }
            | Self::UnknownPlaceholder { known, .. } => Some(arguments(known)),
            Self::UrlVariable { .. } => Some(
                "an argument is one segment of the path or one value of the query, such as \
                 `/orders/{{ order }}?lang={{ lang }}`"
                    .into(),
            ),
            Self::UnusedArgument { name, .. } => {
                Some(format!("write it into the URL as `{{{{ {name} }}}}`"))
            }
            Self::Address { .. } => {
                Some("`private = true` lets it reach private, loopback and link-local ones".into())
            }
            Self::Method { .. } => {
                Some("it is one of `GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE`".into())
            }
            Self::Host { .. } => Some("write `host` or `host:port`".into()),
            Self::Redirects => {
                Some("only a GET or HEAD that is `repeatable` does; leave `redirects` out".into())
            }
            #[cfg(feature = "http")]
            Self::OutputBytes => Some(format!("allow {} or more", crate::http::LEAST_OUTPUT)),
            Self::MostOutput { .. } => Some(format!("allow {MAX_OUTPUT_BYTES} at most")),
            Self::Program { .. } => Some("start with a name or path without `{{`".into()),
            Self::Placeholder { .. } => Some("write `{{ name }}` with an argument's name".into()),
            Self::OptionalPlaceholder { name } => Some(format!(
                "add `{name}` to `required`, or put its words in a list of their own"
            )),
            Self::Script { .. } => {
                Some("give it as a word of its own after the script, which has it as `$1`".into())
            }
            Self::Variable { .. } => Some("write `NAME`, or `NAME=VALUE`".into()),
            _ => None,
        }
    }
}

fn arguments(known: &[String]) -> String {
    if known.is_empty() {
        "the schema has no `properties`".into()
    } else {
        format!("the arguments are {}", listed(known))
    }
}

fn listed(names: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    quoted.join(", ")
}

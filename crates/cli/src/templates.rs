//! What new folders hold, as it is when the program is built.

use crate::arguments::Template;

/// Stands in the files where the graph's name belongs; it is a valid name itself.
const PLACEHOLDER: &str = "__name__";

/// The files of a template, each by its name.
type Files = &'static [(&'static str, &'static str)];

macro_rules! file {
    ($path:literal) => {
        include_str!(concat!("../templates/", $path))
    };
}

const AGENT: Files = &[
    (".gitignore", file!("gitignore")),
    ("README.md", file!("agent/README.md")),
    ("__name__.rag", file!("agent/plan.rag")),
    ("rustagents.toml", file!("agent/rustagents.toml")),
    ("script.toml", file!("agent/script.toml")),
    ("stock.sql", file!("stock.sql")),
];

const APPROVAL: Files = &[
    (".gitignore", file!("gitignore")),
    ("README.md", file!("approval/README.md")),
    ("__name__.rag", file!("approval/plan.rag")),
    ("rustagents.toml", file!("approval/rustagents.toml")),
    ("script.toml", file!("approval/script.toml")),
    ("stock.sql", file!("stock.sql")),
];

const CHAT: Files = &[
    (".gitignore", file!("gitignore")),
    ("README.md", file!("chat/README.md")),
    ("__name__.rag", file!("chat/plan.rag")),
    ("rustagents.toml", file!("chat/rustagents.toml")),
    ("script.toml", file!("chat/script.toml")),
];

impl Template {
    /// The files for a graph of that name: what each is called, and its text.
    pub(crate) fn files(self, name: &str) -> impl Iterator<Item = (String, String)> {
        let files = match self {
            Self::Agent => AGENT,
            Self::Approval => APPROVAL,
            Self::Chat => CHAT,
        };
        let named = move |text: &str| text.replace(PLACEHOLDER, name);
        files
            .iter()
            .map(move |(file, text)| (named(file), named(text)))
    }

    /// An input that shows what the plan does.
    pub(crate) const fn input(self) -> &'static str {
        match self {
            Self::Agent => "How many desk lamps are left?",
            Self::Approval => "Please order 20 desk lamps",
            Self::Chat => "Hello, my name is Ada",
        }
    }
}

//! The words of a command, and what a call puts into them.

use std::path::Path;

use rustagents_core::canonical::Canonical;
use serde_json::Value;

use crate::declaration::DeclarationError;

/// Programs that read a program of their own from an argument after `-c`.
const SHELLS: [&str; 10] = [
    "ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "sh", "tcsh", "zsh",
];

/// A part of a command, as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// One argument of the program. What it names must be there.
    Always(String),
    /// Arguments that are left out together where the call lacks one that they
    /// name.
    Optional(Vec<String>),
}

/// A command that is ready to be filled.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) program: String,
    groups: Vec<Group>,
}

/// Words that stand and fall together.
#[derive(Debug)]
struct Group {
    words: Vec<Parts>,
    optional: bool,
}

/// One word in its parts.
#[derive(Debug)]
struct Parts(Vec<Part>);

#[derive(Debug)]
enum Part {
    Text(String),
    Argument(String),
}

/// Why a call's arguments do not fit the command.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Misfit {
    /// A word needs an argument that is missing or null.
    #[error("the argument `{name}` is missing")]
    Missing { name: String },
    /// No argument of a program can hold one.
    #[error("the argument `{name}` holds a zero byte")]
    ZeroByte { name: String },
    /// The program could take the value for something else.
    #[error("the argument `{name}` starts with `-` and would be read as an option")]
    Option { name: String },
}

impl Template {
    /// Reads the declared words, whose placeholders must be properties of
    /// `schema`, and outside of a list required ones.
    pub(super) fn new(command: &[Word], schema: &Value) -> Result<Self, DeclarationError> {
        let mut words = command.iter();
        let program = match words.next() {
            Some(Word::Always(program)) => program.clone(),
            _ => String::new(),
        };
        if program.is_empty() || program.contains("{{") || program.contains('\0') {
            return Err(DeclarationError::Program { found: program });
        }
        let groups = words.map(Group::read).collect::<Result<_, _>>()?;
        let template = Self { program, groups };
        template.check_names(schema)?;
        template.check_shell()?;
        Ok(template)
    }

    fn check_names(&self, schema: &Value) -> Result<(), DeclarationError> {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        for group in &self.groups {
            for name in group.names() {
                if !properties.is_some_and(|properties| properties.contains_key(name)) {
                    let known = properties.into_iter().flat_map(|known| known.keys());
                    return Err(DeclarationError::UnknownPlaceholder {
                        name: name.to_owned(),
                        known: known.cloned().collect(),
                    });
                }
                let sure = required.is_some_and(|names| names.iter().any(|known| known == name));
                if !group.optional && !sure {
                    return Err(DeclarationError::OptionalPlaceholder {
                        name: name.to_owned(),
                    });
                }
            }
        }
        Ok(())
    }

    /// A value inside a shell's script would be read by the shell, which may stand
    /// behind another program, such as `env`.
    fn check_shell(&self) -> Result<(), DeclarationError> {
        let mut words = self.words();
        let shell = if is_shell(&self.program) {
            Some(self.program.as_str())
        } else {
            words.find_map(|word| word.literal().filter(|word| is_shell(word)))
        };
        match (shell, script(words)) {
            (Some(shell), Some(script)) if script.is_mixed() => Err(DeclarationError::Script {
                shell: shell.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    fn words(&self) -> impl Iterator<Item = &Parts> {
        self.groups.iter().flat_map(|group| &group.words)
    }

    /// The arguments of the program for a call with `arguments`.
    pub(super) fn fill(&self, arguments: &Value) -> Result<Vec<String>, Misfit> {
        let mut filled = Vec::new();
        // After `--` nothing is an option, by the convention of most programs.
        let mut options = true;
        for group in &self.groups {
            if group.optional && group.names().any(|name| given(arguments, name).is_none()) {
                continue;
            }
            for word in &group.words {
                let text = word.fill(arguments)?;
                if options && text.starts_with('-') {
                    word.refuse_option()?;
                }
                options &= !word.is_end_of_options();
                filled.push(text);
            }
        }
        Ok(filled)
    }
}

impl Group {
    fn read(word: &Word) -> Result<Self, DeclarationError> {
        let (words, optional) = match word {
            Word::Always(word) => (std::slice::from_ref(word), false),
            Word::Optional(words) => (words.as_slice(), true),
        };
        Ok(Self {
            words: words
                .iter()
                .map(|word| Parts::read(word))
                .collect::<Result<_, _>>()?,
            optional,
        })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.words.iter().flat_map(Parts::names)
    }
}

impl Parts {
    fn read(word: &str) -> Result<Self, DeclarationError> {
        if word.contains('\0') {
            return Err(DeclarationError::WordWithZeroByte);
        }
        let mut parts = Vec::new();
        let mut rest = word;
        while let Some((text, after)) = rest.split_once("{{") {
            let Some((name, after)) = after.split_once("}}") else {
                return Err(DeclarationError::Placeholder {
                    found: format!("{{{{{after}"),
                });
            };
            if !text.is_empty() {
                parts.push(Part::Text(text.to_owned()));
            }
            parts.push(Part::Argument(name.trim().to_owned()));
            rest = after;
        }
        if !rest.is_empty() || parts.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self(parts))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Argument(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    fn fill(&self, arguments: &Value) -> Result<String, Misfit> {
        let mut filled = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Argument(name) => {
                    let value = given(arguments, name);
                    let value = value.ok_or_else(|| Misfit::Missing { name: name.clone() })?;
                    let text = text(value);
                    if text.contains('\0') {
                        return Err(Misfit::ZeroByte { name: name.clone() });
                    }
                    filled.push_str(&text);
                }
            }
        }
        Ok(filled)
    }

    /// Only the declaration makes an option of a word.
    fn refuse_option(&self) -> Result<(), Misfit> {
        match self.0.first() {
            Some(Part::Argument(name)) => Err(Misfit::Option { name: name.clone() }),
            _ => Ok(()),
        }
    }

    fn literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    fn is_end_of_options(&self) -> bool {
        self.literal() == Some("--")
    }

    /// Whether it is `-c`, alone or among other letters.
    fn is_script_option(&self) -> bool {
        let option = self.literal().and_then(|text| text.strip_prefix('-'));
        option.is_some_and(|letters| !letters.starts_with('-') && letters.contains('c'))
    }

    fn is_option(&self) -> bool {
        self.literal()
            .is_some_and(|text| text.starts_with(['-', '+']))
    }

    /// Whether it is an option of a shell that the next word is a value of.
    fn takes_value(&self) -> bool {
        self.literal().is_some_and(|text| {
            let short = !text.starts_with("--") && text.ends_with(['o', 'O']);
            short || ["--rcfile", "--init-file"].contains(&text)
        })
    }

    fn is_mixed(&self) -> bool {
        self.0.len() > 1
    }
}

/// The script among a shell's words: the first word after `-c` that is neither
/// an option nor the value of one.
fn script<'a>(words: impl Iterator<Item = &'a Parts>) -> Option<&'a Parts> {
    let mut after = words.skip_while(|word| !word.is_script_option());
    while let Some(word) = after.next() {
        if !word.is_option() {
            return Some(word);
        }
        if word.takes_value() {
            after.next();
        }
    }
    None
}

fn is_shell(program: &str) -> bool {
    let name = Path::new(program).file_name();
    SHELLS
        .iter()
        .any(|shell| name.is_some_and(|name| name == *shell))
}

/// The argument of this name; null counts as missing.
fn given<'a>(arguments: &'a Value, name: &str) -> Option<&'a Value> {
    arguments.get(name).filter(|value| !value.is_null())
}

/// A text as it is; every other value as its canonical JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => Canonical::of(other).text().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn always(words: &[&str]) -> Vec<Word> {
        words
            .iter()
            .map(|word| Word::Always((*word).to_owned()))
            .collect()
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "required": ["file", "n"],
            "properties": { "file": {}, "n": {}, "size": {} },
        })
    }

    fn fill(words: &[&str], arguments: &Value) -> Result<Vec<String>, Misfit> {
        Template::new(&always(words), &schema())
            .unwrap()
            .fill(arguments)
    }

    #[test]
    fn a_word_is_one_argument_whatever_the_value() {
        for value in ["a b", "\"'", "$(id); `id`", "a\nb", "{{ n }}", "*", "", "é"] {
            let filled = fill(
                &["p", "<{{ file }}>", "{{file}}"],
                &json!({ "file": value }),
            );
            assert_eq!(filled.unwrap(), [format!("<{value}>"), value.to_owned()]);
        }
    }

    #[test]
    fn a_value_that_is_no_text_is_its_json() {
        let arguments = json!({ "file": {"b": [1, true], "a": null}, "n": 1.5 });
        let filled = fill(&["p", "{{ file }}", "{{ n }}{{ n }}"], &arguments);
        assert_eq!(filled.unwrap(), [r#"{"a":null,"b":[1,true]}"#, "1.51.5"]);
    }

    #[test]
    fn only_the_declaration_makes_options() {
        let file = |value: &str| json!({ "file": value, "n": -5 });
        let refused = Err(Misfit::Option {
            name: "file".into(),
        });
        assert_eq!(fill(&["p", "{{ file }}"], &file("-rf")), refused);
        assert_eq!(fill(&["p", "{{ file }}-x"], &file("")), refused);
        assert_eq!(
            fill(&["p", "{{ n }}"], &file("")),
            Err(Misfit::Option { name: "n".into() })
        );
        assert_eq!(fill(&["p", "{{ file }}", "--"], &file("-rf")), refused);
        for words in [
            ["p", "--", "{{ file }}"],
            ["p", "-v", "--file={{ file }}"],
            ["p", "--", "-"],
        ] {
            assert!(fill(&words, &file("-rf")).is_ok(), "{words:?}");
        }
        // A value is not the declaration's `--`.
        let words = ["p", "x{{ file }}", "{{ n }}"];
        assert!(fill(&words, &json!({ "file": "--", "n": "-" })).is_err());
    }

    #[test]
    fn what_a_program_cannot_be_given_is_refused() {
        let refused = fill(&["p", "x{{ file }}"], &json!({ "file": "a\0b" }));
        assert_eq!(
            refused,
            Err(Misfit::ZeroByte {
                name: "file".into()
            })
        );
        for arguments in [json!({}), json!({ "file": null })] {
            let refused = fill(&["p", "{{ file }}"], &arguments);
            assert_eq!(
                refused,
                Err(Misfit::Missing {
                    name: "file".into()
                })
            );
        }
    }

    #[test]
    fn a_list_is_left_out_as_a_whole() {
        let mut command = always(&["p", "{{ file }}"]);
        let list = ["--size", "{{ size }}", "--"];
        command.insert(1, Word::Optional(list.map(str::to_owned).to_vec()));
        let template = Template::new(&command, &schema()).unwrap();
        let filled = template.fill(&json!({ "file": "a", "size": 3 })).unwrap();
        assert_eq!(filled, ["--size", "3", "--", "a"]);
        for size in [json!({ "file": "a" }), json!({ "file": "a", "size": null })] {
            assert_eq!(template.fill(&size).unwrap(), ["a"]);
        }
        // Its `--` protects only where it is there.
        assert!(template.fill(&json!({ "file": "-a" })).is_err());
    }

    #[test]
    fn declarations_that_make_no_command_are_refused() {
        let error = |words: &[&str]| Template::new(&always(words), &schema()).unwrap_err();
        for program in ["", "{{ file }}", "a{{ file }}", "a\0"] {
            let found = program.to_owned();
            assert_eq!(error(&[program]), DeclarationError::Program { found });
        }
        assert!(Template::new(&[], &schema()).is_err());
        let found = "{{ file }".to_owned();
        assert_eq!(
            error(&["p", "x{{ file }"]),
            DeclarationError::Placeholder { found }
        );
        assert_eq!(error(&["p", "\0"]), DeclarationError::WordWithZeroByte);
        for name in ["fil", "", "file | upper", ".Name"] {
            assert_eq!(
                error(&["p", &format!("{{{{ {name} }}}}")]),
                DeclarationError::UnknownPlaceholder {
                    name: name.into(),
                    known: vec!["file".into(), "n".into(), "size".into()],
                }
            );
        }
        assert_eq!(
            error(&["p", "{{ size }}"]),
            DeclarationError::OptionalPlaceholder {
                name: "size".into()
            }
        );
    }

    #[test]
    fn a_shells_script_cannot_hold_a_value_among_its_text() {
        for words in [
            &["/bin/bash", "-ec", "cat {{ file }}"][..],
            &["/bin/bash", "-e", "-c", "-x", "--", "cat '{{ file }}'", "x"],
            &["/bin/bash", "--rcfile", "x", "-c", "cat {{ file }}"],
            &["/bin/bash", "-c", "-o", "errexit", "cat {{ file }}"],
            &["env", "/bin/bash", "-c", "cat {{ file }}"],
            &["timeout", "5", "/bin/bash", "-c", "cat {{ file }}"],
        ] {
            let error = Template::new(&always(words), &schema()).unwrap_err();
            let shell = "/bin/bash".to_owned();
            assert_eq!(error, DeclarationError::Script { shell });
        }
        for words in [
            &["sh", "-c", "cat -- \"$1\"", "--", "{{ file }}"][..],
            &["sh", "-c", "cat -- \"$1\"", "--", "x{{ file }}"],
            &["sh", "{{ file }}", "x{{ n }}"],
            &["sh", "-c", "{{ file }}"],
            &["printf", "-c", "x{{ file }}"],
        ] {
            assert!(
                Template::new(&always(words), &schema()).is_ok(),
                "{words:?}"
            );
        }
    }
}

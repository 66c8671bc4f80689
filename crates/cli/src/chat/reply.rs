//! What a typed line means as the answer to a question.

use rustagents_core::ask::{Ask, CallSubject, Subject};
use rustagents_runtime::Decision;
use serde_json::Value;

/// How a question can be answered, for the prompt.
pub(crate) fn choices(ask: &Ask) -> String {
    match &ask.subject {
        Subject::Approval(_) => "yes, or no with a reason: ".into(),
        Subject::InDoubt(_) | Subject::StepInDoubt(_) => {
            "done with its result as JSON, not done, or repeat: ".into()
        }
        Subject::Interrupt { options, .. } if options.is_empty() => "answer: ".into(),
        Subject::Interrupt { options, .. } => format!("{}: ", options.join(", ")),
        _ => "answer: ".into(),
    }
}

/// The decision that `typed` is; `None` if it is none.
///
/// Only a clear yes approves. What could be a slip is asked again.
pub(crate) fn decision(ask: &Ask, typed: &str) -> Option<Decision> {
    let typed = typed.trim();
    if typed.is_empty() {
        return None;
    }
    match &ask.subject {
        Subject::Approval(call) => approval(call, typed),
        Subject::InDoubt(call) => settlement(call.call.to_string(), typed),
        Subject::StepInDoubt(_) => settlement(ask.id.to_string(), typed),
        Subject::Interrupt { options, .. } => value(options, typed).map(|value| Decision::Answer {
            ask: ask.id.to_string(),
            value,
        }),
        _ => None,
    }
}

fn approval(subject: &CallSubject, typed: &str) -> Option<Decision> {
    let (word, rest) = first_word(typed);
    let call = subject.call.to_string();
    match &*word {
        "y" | "yes" if rest.is_empty() => Some(Decision::Approve {
            call,
            hash: Some(subject.hash.to_string()),
        }),
        "n" | "no" => Some(Decision::Deny {
            call,
            reason: (!rest.is_empty()).then(|| rest.to_owned()),
        }),
        _ => None,
    }
}

fn settlement(call: String, typed: &str) -> Option<Decision> {
    let (word, rest) = first_word(typed);
    match (&*word, rest) {
        ("d" | "done", "") => Some(Decision::Done {
            call,
            result: Value::Null,
        }),
        ("d" | "done", json) => Some(Decision::Done {
            call,
            result: serde_json::from_str(json).ok()?,
        }),
        ("not", "done") | ("n", "") => Some(Decision::NotDone { call }),
        ("r" | "repeat", "") => Some(Decision::Repeat { call }),
        _ => None,
    }
}

/// One of the options; where there are none, JSON, or else the text itself.
fn value(options: &[String], typed: &str) -> Option<Value> {
    if options.is_empty() {
        return Some(serde_json::from_str(typed).unwrap_or_else(|_| Value::from(typed)));
    }
    let chosen = options.iter().find(|o| o.eq_ignore_ascii_case(typed))?;
    Some(Value::from(chosen.as_str()))
}

/// The first word in lower case, and what follows it without `,`, `:` or space.
fn first_word(typed: &str) -> (String, &str) {
    let end = typed
        .find(|c: char| c.is_whitespace() || matches!(c, ',' | ':'))
        .unwrap_or(typed.len());
    let (word, rest) = typed.split_at_checked(end).unwrap_or((typed, ""));
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ':'));
    (word.to_lowercase(), rest)
}

#[cfg(test)]
mod tests {
    use rustagents_core::{ask::StepSubject, digest::Digest, ids::CallId, tool::EffectClass};
    use serde_json::json;

    use super::*;

    fn subject() -> CallSubject {
        CallSubject {
            call: CallId::numbered(3),
            tool: "refund".into(),
            effect: EffectClass::Once,
            arguments: json!({}),
            hash: Digest::of(b"{}"),
        }
    }

    fn ask(subject: Subject) -> Ask {
        Ask {
            id: "c-3".into(),
            node: "refunds".into(),
            prompt: "Refund?".into(),
            subject,
        }
    }

    #[test]
    fn only_a_clear_yes_approves_and_it_names_the_arguments() {
        let ask = ask(Subject::Approval(subject()));
        let approve = Decision::Approve {
            call: "c-3".into(),
            hash: Some(subject().hash.to_string()),
        };
        for typed in ["y", "yes", " YES ", "Yes"] {
            assert_eq!(decision(&ask, typed), Some(approve.clone()), "{typed}");
        }
        for typed in ["", " ", "yeah", "yes but", "ok", "approve", "yno", "ye s"] {
            assert_eq!(decision(&ask, typed), None, "{typed}");
        }
    }

    #[test]
    fn a_no_may_have_a_reason() {
        let ask = ask(Subject::Approval(subject()));
        let deny = |reason: Option<&str>| {
            Some(Decision::Deny {
                call: "c-3".into(),
                reason: reason.map(str::to_owned),
            })
        };
        for (typed, reason) in [
            ("n", None),
            ("No", None),
            ("no, too much", Some("too much")),
            ("no too, much", Some("too, much")),
        ] {
            assert_eq!(decision(&ask, typed), deny(reason), "{typed}");
        }
    }

    #[test]
    fn a_call_in_doubt_is_settled_in_words() {
        let ask = ask(Subject::InDoubt(subject()));
        let call = || "c-3".to_owned();
        let done = |result| {
            Some(Decision::Done {
                call: call(),
                result,
            })
        };
        assert_eq!(decision(&ask, "done"), done(json!(null)));
        assert_eq!(decision(&ask, "done {\"id\":1}"), done(json!({"id": 1})));
        assert_eq!(decision(&ask, "done {"), None);
        for typed in ["not done", "n"] {
            let expected = Some(Decision::NotDone { call: call() });
            assert_eq!(decision(&ask, typed), expected, "{typed}");
        }
        let repeat = Some(Decision::Repeat { call: call() });
        assert_eq!(decision(&ask, "repeat"), repeat);
        for typed in ["not", "no", "yes", "repeat it"] {
            assert_eq!(decision(&ask, typed), None, "{typed}");
        }
    }

    #[test]
    fn a_step_in_doubt_is_settled_by_its_question() {
        let ask = ask(Subject::StepInDoubt(StepSubject {
            step: "charge#1".into(),
            idempotency_key: Digest::of(b"key"),
            hash: Digest::of(b"null"),
        }));
        let call = || ask.id.to_string();
        let done = Decision::Done {
            call: call(),
            result: json!(7),
        };
        assert_eq!(decision(&ask, "done 7"), Some(done));
        let repeat = Decision::Repeat { call: call() };
        assert_eq!(decision(&ask, "repeat"), Some(repeat));
        assert_eq!(decision(&ask, "yes"), None);
    }

    #[test]
    fn options_are_chosen_and_other_answers_are_json_or_text() {
        let given = |options: &[&str], typed: &str| {
            let options = options.iter().map(|o| (*o).to_owned()).collect();
            let ask = ask(Subject::Interrupt {
                options,
                until_ms: None,
            });
            match decision(&ask, typed) {
                Some(Decision::Answer { value, .. }) => Some(value),
                _ => None,
            }
        };
        assert_eq!(given(&["yes", "no"], "YES"), Some(json!("yes")));
        assert_eq!(given(&["yes", "no"], "maybe"), None);
        assert_eq!(given(&[], "{\"a\":1}"), Some(json!({"a": 1})));
        assert_eq!(given(&[], "next week"), Some(json!("next week")));
        assert_eq!(given(&[], "  "), None);
    }
}

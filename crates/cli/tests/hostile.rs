//! A model that says anything: each run ends in bounded time, with a typed error or
//! mended, its thread stays readable, and nothing happens to the data.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench::{Desk, REFUND, Said};

/// How long a run may take; it takes a small part of that.
const PATIENCE: Duration = Duration::from_secs(30);

/// The largest journal that a run of these may leave, in bytes.
const JOURNAL: u64 = 4 << 20;

/// How a run must end.
enum End {
    /// It fails with this code, and says this.
    Fails(&'static str, &'static str),
    /// It completes, and the refund clerk's answer starts so.
    Completes(&'static str),
}

use End::{Completes, Fails};

/// What the others say, where only the refund clerk is bad.
const OTHERS: &str = r#"
  { system = "^Triage", text = "refund" },
  { system = "^Carrier", text = "No claim." },
  { system = "^Reply", text = "{{ answers | join(' ') }}" },
"#;

/// A rule for a refund clerk that tells what went wrong with its last call.
const SORRY: &str =
    r#"{ system = "^Refund", when = "error", text = "{{ error.code }} {{ error.message }}" },"#;

/// A desk whose refund clerk follows these rules.
fn desk_with_clerk(rules: &str) -> Desk {
    desk_with_script(&format!("{OTHERS}{rules}"))
}

fn desk_with_script(rules: &str) -> Desk {
    let desk = Desk::new();
    desk.write("script.toml", format!("rule = [\n{rules}\n]\n"));
    desk
}

/// Runs the desk's script and looks at all that must hold whatever the model says.
fn run(desk: &Desk, name: &str) -> Said {
    let start = Instant::now();
    let said = desk.run_refund();
    assert!(
        start.elapsed() < PATIENCE,
        "{name} took {:?}",
        start.elapsed()
    );
    check_thread(desk, &said, name);
    assert_eq!(orders(desk), seed(desk), "{name} changed an order");
    said
}

/// The thread tells what the run told, and every row of it can be read.
fn check_thread(desk: &Desk, said: &Said, name: &str) {
    let before = desk.files();
    let told = desk.resume(&[]);
    assert_eq!(told.status, said.status, "{name}: {told:?}");
    let (mut now, mut then) = (told.json(), said.json());
    for object in [&mut now, &mut then] {
        // A record keeps no hint.
        if let Some(error) = object["error"].as_object_mut() {
            error.remove("hint");
        }
    }
    assert_eq!(now, then, "{name}");
    assert!(desk.files() == before, "{name}: a resume wrote something");

    let person = desk.rag(&["resume", "demo"]);
    assert_eq!(person.status, said.status, "{name}: {person:?}");
    check_rows(desk, name);
}

fn check_rows(desk: &Desk, name: &str) {
    let rows = [
        "SELECT body FROM records WHERE body IS NOT NULL",
        "SELECT body FROM messages WHERE body IS NOT NULL",
        "SELECT bytes FROM contents",
    ]
    .map(|sql| desk.journal(sql));
    assert!(!rows[0].is_empty(), "{name}: nothing was recorded");
    for row in rows.iter().flatten() {
        let parsed = serde_json::from_str::<Value>(row);
        assert!(parsed.is_ok(), "{name}: {parsed:?} in {row}");
    }
    let journal = desk.path().join(".rustagents/journal.db");
    let bytes = journal.metadata().unwrap().len();
    assert!(bytes < JOURNAL, "{name}: the journal has {bytes} bytes");
}

fn rows(data: &rusqlite::Connection) -> Vec<String> {
    let columns = "id || item || paid_cents || status || coalesce(claim, '')";
    let mut rows = data
        .prepare(&format!("SELECT {columns} FROM orders ORDER BY id"))
        .unwrap();
    let rows = rows.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// The orders as they were before anything happened.
fn seed(desk: &Desk) -> Vec<String> {
    let data = rusqlite::Connection::open_in_memory().unwrap();
    let sql = std::fs::read_to_string(desk.path().join("orders.sql")).unwrap();
    data.execute_batch(&sql).unwrap();
    rows(&data)
}

/// The orders as they are; data that nobody asked for is still its seed.
fn orders(desk: &Desk) -> Vec<String> {
    let file = desk.path().join(".rustagents/data/orders.db");
    if !file.exists() {
        return seed(desk);
    }
    rows(&rusqlite::Connection::open(file).unwrap())
}

fn check_end(name: &str, said: &Said, end: &End) {
    let object = said.json();
    match end {
        Fails(code, says) => {
            assert_eq!(said.status, Some(1), "{name}: {said:?}");
            assert_eq!(object["status"], "failed", "{name}");
            assert_eq!(said.code(), *code, "{name}: {said:?}");
            let message = object["error"]["message"].as_str().unwrap();
            assert!(message.contains(says), "{name}: no `{says}` in {message}");
            assert!(message.len() < 1_000, "{name}: {} bytes", message.len());
        }
        Completes(says) => {
            assert_eq!(said.status, Some(0), "{name}: {said:?}");
            let output = object["output"].as_str().unwrap();
            assert!(output.starts_with(says), "{name}: {output}");
            assert!(output.ends_with("No claim."), "{name}: {output}");
        }
    }
}

/// Runs each clerk: its rules, and how the run ends.
fn check_clerks(clerks: &[(&str, End)]) {
    for (rules, end) in clerks {
        let desk = desk_with_clerk(rules);
        let said = run(&desk, rules);
        check_end(rules, &said, end);
    }
}

#[test]
fn a_tool_that_is_not_offered_is_never_called() {
    let right = r#"{ system = "^Refund", last = "user", call = "rm_rf", arguments = "{}" },"#;
    let others = r#"{ system = "^Refund", last = "user", call = "open_claim", arguments = '{"order":"A-1042"}' },"#;
    let mended = |rule: &str| desk_with_clerk(&format!("{rule}{SORRY}"));
    check_clerks(&[
        (
            r#"{ system = "^Refund", call = "rm_rf", arguments = "{}" }"#,
            Fails("RAG0503", "there is no tool `rm_rf`"),
        ),
        (
            r#"{ system = "^Refund", call = "" }"#,
            Fails("RAG0503", "there is no tool ``"),
        ),
        (
            r#"{ system = "^Refund", call = "REFUND", arguments = '{"order":"A-1042","amount_cents":12900}' }"#,
            Fails("RAG0503", "there is no tool `REFUND`"),
        ),
    ]);
    for (rule, tool) in [(right, "rm_rf"), (others, "open_claim")] {
        let said = run(&mended(rule), rule);
        let says = format!("RAG0503 there is no tool `{tool}`; offered: lookup_order, refund");
        assert_eq!(said.status, Some(0), "{said:?}");
        assert_eq!(said.json()["output"], format!("{says} No claim."));
    }
}

#[test]
fn a_good_call_beside_a_bad_one_does_not_run() {
    let rules = r#"{ system = "^Refund", last = "user", calls = [
      { call = "refund", arguments = '{"order":"A-1042","amount_cents":12900}' },
      { call = "rm_rf" },
    ] },
    { system = "^Refund", when = "error", text = "Sorry." }"#;
    let desk = desk_with_clerk(&rules.replace('\n', " "));
    let said = run(&desk, rules);
    check_end(rules, &said, &Completes("Sorry."));
    assert_eq!(said.json()["interrupts"].as_array().unwrap().len(), 0);
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let clerk = |call: &str, arguments: &str| {
        format!(r#"{{ system = "^Refund", call = "{call}", arguments = '{arguments}' }}"#)
    };
    for (call, arguments, says) in [
        (
            "refund",
            r#"{"order":"A-1042","amount_cents":1,"amount_cents":12900}"#,
            "duplicate key `amount_cents`",
        ),
        (
            "refund",
            r#"{"order":"A-1042","amount_cents":0}"#,
            "/amount_cents",
        ),
        (
            "refund",
            r#"{"order":"A-1042","amount_cents":1.5}"#,
            "/amount_cents",
        ),
        (
            "refund",
            r#"{"order":"A-1042","amount_cents":"12900"}"#,
            "/amount_cents",
        ),
        (
            "refund",
            r#"{"order":"A-1042","amount_cents":123456789012345678901234567890}"#,
            "is not exact",
        ),
        ("refund", r#"{"order":"A-1042"}"#, "amount_cents"),
        (
            "refund",
            r#"{"order":"A-1042","amount_cents":12900,"to":"me"}"#,
            "to",
        ),
        ("lookup_order", r#"{"order":42}"#, "/order"),
        ("lookup_order", r#"{"order":null}"#, "/order"),
        ("lookup_order", r#"{"order":"a-1042"}"#, "/order"),
        ("lookup_order", "", "order"),
        ("lookup_order", "[]", "object"),
        ("lookup_order", "order=A-1042", "line 1 column 1"),
        (
            "lookup_order",
            r#"{"order":"A-1042"} {}"#,
            "line 1 column 20",
        ),
        ("lookup_order", r#"{"order":"A-1042""#, "line 1 column"),
        (
            "lookup_order",
            r#"{"order":{{ "[" * 100000 }}{{ "]" * 100000 }}}"#,
            "nested deeper than 64",
        ),
    ] {
        let rules = clerk(call, arguments);
        let said = run(&desk_with_clerk(&rules), &rules);
        check_end(&rules, &said, &Fails("RAG0604", says));
    }
}

#[test]
fn a_model_may_mend_its_arguments_once() {
    let bad = r#"{ system = "^Refund", last = "user", call = "lookup_order", arguments = '{"order":42}' },"#;
    let good = r#"{ system = "^Refund", when = "error", call = "lookup_order", arguments = '{"order":"A-1042"}' },"#;
    let last =
        r#"{ system = "^Refund", tool = "lookup_order", text = "It is {{ rows[0].status }}." },"#;
    let rules = format!("{bad}{good}{last}");
    let said = run(&desk_with_clerk(&rules), &rules);
    check_end(&rules, &said, &Completes("It is paid."));
}

#[test]
fn an_answer_without_end_is_cut_and_not_kept() {
    let size = 10 << 20;
    for (rule, says) in [
        (
            format!(
                r#"{{ system = "^Refund", call = "refund", arguments = '{{"order":"{{{{ "A" * {size} }}}}","amount_cents":1}}' }}"#
            ),
            "1048576 bytes",
        ),
        (
            format!(r#"{{ system = "^Refund", text = "{{{{ 'A' * {size} }}}}" }}"#),
            "1048576 bytes",
        ),
        (
            r#"{ system = "^Refund", call = "lookup_order", repeat = 1000, arguments = '{"order":"A-1042"}' }"#
                .to_owned(),
            "128 calls",
        ),
        (
            r#"{ system = "^Refund", call = "refund", repeat = 1000, arguments = '{"order":"A-1042","amount_cents":12900}' }"#
                .to_owned(),
            "128 calls",
        ),
        (
            r#"{ system = "^Refund", call = "refund", repeat = 4000000000 }"#.to_owned(),
            "128 calls",
        ),
    ] {
        let desk = desk_with_clerk(&rule);
        let said = run(&desk, &rule);
        check_end(&rule, &said, &Fails("RAG0502", says));
        let calls = "SELECT count(*) FROM records WHERE kind IN ('effect.intent', 'ask.raised')";
        assert_eq!(desk.journal(calls), ["0"], "{rule}");
    }
}

#[test]
fn as_many_calls_as_a_turn_may_have_run_once_each() {
    let rules = r#"{ system = "^Refund", last = "user", call = "lookup_order", repeat = 128, arguments = '{"order":"A-1042"}' },
      { system = "^Refund", text = "Done." }"#;
    let said = run(&desk_with_clerk(rules), rules);
    check_end(rules, &said, &Completes("Done."));
    assert_eq!(said.json()["usage"]["tool_calls"], 128);
}

#[test]
fn a_model_that_never_ends_meets_the_budget() {
    let rules =
        r#"{ system = "^Refund", call = "lookup_order", arguments = '{"order":"A-1042"}' }"#;
    let said = run(&desk_with_clerk(rules), rules);
    assert_eq!(said.status, Some(4), "{said:?}");
    assert_eq!(said.code(), "RAG0701");
    assert_eq!(said.json()["usage"]["model_calls"], 100);
}

#[test]
fn an_answer_that_is_no_label_is_refused_with_the_labels() {
    for answer in [
        "banana",
        "",
        "refund, other",
        "REFUND.",
        "ignore the labels",
    ] {
        let script = format!(r#"{{ text = "{answer}" }}"#);
        let said = run(&desk_with_script(&script), &script);
        check_end(&script, &said, &Fails("RAG0505", "refund, other"));
    }
}

#[test]
fn a_model_may_mend_its_label_once() {
    let script = |second: &str| {
        format!(
            r#"{{ system = "^Triage", user = "^That answer cannot be used", text = "{second}" }},
            {{ system = "^Triage", text = "banana" }},
            {{ system = "^Refund", text = "Done." }},
            {OTHERS}"#
        )
    };
    for label in ["refund", " REFUND ", "Refund"] {
        let script = script(label);
        let said = run(&desk_with_script(&script), &script);
        check_end(&script, &said, &Completes("Done."));
        assert_eq!(said.json()["usage"]["model_calls"], 5, "{label}");
    }
    let script = script("banana");
    let said = run(&desk_with_script(&script), &script);
    check_end(&script, &said, &Fails("RAG0505", "`banana`"));
}

#[test]
fn an_empty_answer_is_an_answer() {
    let rules = r#"{ system = "^Refund", text = "" }"#;
    let said = run(&desk_with_clerk(rules), rules);
    check_end(rules, &said, &Completes("No claim."));
}

#[test]
fn a_script_without_a_rule_says_what_there_was_to_match() {
    let said = run(&desk_with_clerk(""), "no rule");
    let says = "system `Refund clerk. Look the order up; refund it in full if it is paid…`, \
                last `user`, user `Order A-1042 never arrived, please refund it`, tool none, \
                offers `lookup_order, refund`";
    check_end("no rule", &said, &Fails("RAG0504", says));
    assert!(said.json()["error"]["hint"].is_string(), "{said:?}");
}

#[test]
fn a_template_that_does_not_work_names_its_rule() {
    check_clerks(&[
        (
            r#"{ system = "^Refund", text = "{{ nothing.there }}" }"#,
            Fails("RAG0206", "rule 4"),
        ),
        (
            r#"{ system = "^Refund", text = "{% for a in range(1000000000) %}a{% endfor %}" }"#,
            Fails("RAG0206", "rule 4"),
        ),
    ]);
}

#[test]
fn text_in_arguments_is_never_sql() {
    for order in [
        "A-1042'; DELETE FROM orders; --",
        "A-1042' OR '1'='1",
        "'; UPDATE orders SET status='refunded'; --",
        ":order",
        "A-1042\\u0000",
        "%",
    ] {
        let call = |arguments: String, tool: &str| {
            format!(
                r#"{{ system = "^Refund", last = "user", call = "{tool}", arguments = '''{arguments}''' }},"#
            )
        };
        // The schema of the one tool refuses it, the statement of the other finds nothing.
        let lookup = call(format!(r#"{{"order":"{order}"}}"#), "lookup_order");
        let said = run(&desk_with_clerk(&format!("{lookup}{SORRY}")), &lookup);
        check_end(&lookup, &said, &Completes("RAG0604 "));

        let refund = call(
            format!(r#"{{"order":"{order}","amount_cents":12900}}"#),
            "refund",
        );
        let desk = desk_with_clerk(&format!("{refund}{SORRY}"));
        let asked = run(&desk, &refund);
        assert_eq!(asked.status, Some(3), "{asked:?}");
        let said = desk.resume(&crate::bench::approvals(&asked));
        check_end(&refund, &said, &Completes("RAG0603 "));
        check_thread(&desk, &said, &refund);
        assert_eq!(orders(&desk), seed(&desk), "{order}");
    }
}

#[test]
fn the_same_refund_asked_for_twice_is_paid_once() {
    let rules = r#"{ system = "^Refund", last = "user", call = "refund", repeat = 2, arguments = '{"order":"A-1042","amount_cents":12900}' },
      { system = "^Refund", when = "error", text = "The second failed." }"#;
    let desk = desk_with_clerk(rules);
    let asked = run(&desk, rules);
    assert_eq!(asked.interrupts().len(), 2, "{asked:?}");
    let said = desk.resume(&crate::bench::approvals(&asked));
    assert_eq!(said.status, Some(0), "{said:?}");
    check_thread(&desk, &said, rules);
    let (now, then) = (orders(&desk), seed(&desk));
    let changed: Vec<_> = now.iter().filter(|row| !then.contains(row)).collect();
    assert_eq!(changed, ["A-1042office chair12900refunded"]);
    let ends =
        "SELECT json_extract(body, '$.end') FROM records WHERE key LIKE 'call/%/result' ORDER BY 1";
    assert_eq!(desk.journal(ends), ["done", "failed"]);
}

/// What a terminal must not get from a model, as escapes of TOML, JSON and minijinja:
/// colours, a title, a bell, a cleared screen, deletions, C1 controls, and a change
/// of the reading order.
const CONTROLS: &str =
    r"a\u001b[35mb\u001b]0;title\u0007c\u0000d\u001b[2J\re\u007f\u0008\u009b2J\u0085\u202e";

/// The same as characters.
const CHARACTERS: &str =
    "a\u{1b}[35mb\u{1b}]0;title\u{7}c\0d\u{1b}[2J\re\u{7f}\u{8}\u{9b}2J\u{85}\u{202e}";

/// Clerks that say [`CONTROLS`]: as an answer, a tool's name, an argument.
fn clerks_with_controls() -> [String; 3] {
    [
        format!(
            r#"{{ system = "^Refund", text = "{{{{ '{}' }}}}" }}"#,
            CONTROLS.replace('\\', r"\\")
        ),
        format!(r#"{{ system = "^Refund", call = "{CONTROLS}" }}"#),
        format!(
            r#"{{ system = "^Refund", call = "refund", arguments = '{{"order":"{CONTROLS}","amount_cents":1}}' }}"#
        ),
    ]
}

/// The characters in a text that could change a screen.
fn controls(text: &str) -> Vec<char> {
    let changes = |c: &char| (c.is_control() && *c != '\n') || *c == '\u{202e}';
    text.chars().filter(changes).collect()
}

#[test]
fn scripts_get_an_answer_as_the_model_said_it() {
    let [rules, ..] = clerks_with_controls();
    let desk = desk_with_clerk(&rules);
    let said = run(&desk, &rules);
    check_end(&rules, &said, &Completes(CHARACTERS));
    assert!(!said.stdout.contains('\u{1b}'), "{said:?}");
    let piped = desk.rag(&["resume", "demo"]);
    assert_eq!(piped.stdout, format!("{CHARACTERS} No claim.\n"));
}

#[test]
fn a_model_cannot_change_what_a_person_sees() {
    let own = ["[0m", "[1m", "[2m", "[31m", "[32m", "[33m"].map(|code| format!("\u{1b}{code}"));
    for rules in clerks_with_controls() {
        let desk = desk_with_clerk(&rules);
        for color in ["never", "auto", "always"] {
            let options = ["--thread", color, "--color", color, "-v"];
            let said = desk.rag(&[&["run", ".", "--input", REFUND], &options[..]].concat());
            let again = desk.rag(&["resume", color, "--color", color]);
            assert!(said.stderr.contains("refunds"), "{said:?}");
            for text in [said.stderr, again.stderr] {
                let text = own.iter().fold(text, |text, code| text.replace(code, ""));
                assert_eq!(controls(&text), [], "{color}: {rules}: {text:?}");
            }
        }
        check_rows(&desk, &rules);
    }
}

#[test]
fn a_model_cannot_fake_the_lines_of_the_program() {
    let lines = r"x\ngo on with:\n  rm -rf .\r\n";
    let rules = format!(
        r#"{{ system = "^Refund", call = "refund", arguments = '{{"order":"{lines}","amount_cents":1}}' }}"#
    );
    let desk = desk_with_clerk(&rules);
    let said = desk.rag(&["run", ".", "--thread", "demo", "--input", REFUND]);
    assert_eq!(said.status, Some(3), "{said:?}");
    let starts = |words: &str| {
        let mut lines = said.stderr.lines().map(str::trim);
        lines
            .by_ref()
            .filter(|line| line.starts_with(words))
            .count()
    };
    assert_eq!(starts("go on with:"), 1, "{said:?}");
    assert_eq!(starts("rm"), 0, "{said:?}");
}

/// `script` gives a command a terminal.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_an_answer_that_cannot_change_it() {
    let [rules, ..] = clerks_with_controls();
    let desk = desk_with_clerk(&rules);
    let line = format!(
        "{} run . --quiet --input '{REFUND}'",
        env!("CARGO_BIN_EXE_rag")
    );
    let mut command = std::process::Command::new("script");
    command
        .args(["-qec", &line, "/dev/null"])
        .current_dir(desk.path())
        .stdin(std::process::Stdio::null())
        .env("NO_COLOR", "1");
    let said = Said::of(command.output().unwrap());
    assert_eq!(said.status, Some(0), "{said:?}");
    assert!(said.stdout.contains("No claim."), "{said:?}");
    // The terminal itself ends lines with both characters.
    assert_eq!(controls(&said.stdout.replace("\r\n", "\n")), [], "{said:?}");
}

//! A run of two hundred steps whose process is killed two hundred times.

use std::{
    fmt::Write,
    io::{BufRead, BufReader},
    process::Stdio,
};

use serde_json::Value;

use crate::bench::Desk;

const STEPS: usize = 200;
const KILLS: usize = 200;

/// Each node notes its number, by a call that must not happen twice.
fn desk() -> Desk {
    let desk = Desk::new();
    let mut plan = "graph long {\n  defaults { recursion_limit 300 }\n  channel messages messages\n  channel said overwrite\n  start n1\n".to_owned();
    let mut rules = "rule = [\n".to_owned();
    for step in 1..=STEPS {
        let next = match step {
            STEPS => "END".to_owned(),
            step => format!("n{}", step + 1),
        };
        let _ = writeln!(
            plan,
            "  node n{step} {{ kind agent  model \"default\"  prompt \"Step {step}.\"  tools [\"note\"]  output said  next {next} }}"
        );
        let _ = writeln!(
            rules,
            "  {{ system = '^Step {step}\\.', last = \"user\", call = \"note\", arguments = '{{\"n\":{step}}}' }},"
        );
    }
    desk.write("support.rag", plan + "}\n");
    desk.write("script.toml", rules + "  { text = \"noted\" },\n]\n");
    desk.write("notes.sql", "CREATE TABLE notes(n INTEGER NOT NULL);\n");
    desk.write(
        "rustagents.toml",
        r#"[models]
default = "scripted:script.toml"
[limits]
steps = 300
model_calls = 2000
tool_calls = 1000
[data.notes]
seed = "notes.sql"
[tools.note]
kind = "sql"
data = "notes"
effect = "once"
approval = "allow"
description = "Note a number."
arguments = { type = "object", properties = { n = { type = "integer" } }, required = ["n"], additionalProperties = false }
sql = "INSERT INTO notes(n) VALUES(:n)"
"#,
    );
    desk
}

fn notes(desk: &Desk) -> Vec<usize> {
    let data = desk.path().join(".rustagents/data/notes.db");
    let Ok(data) = rusqlite::Connection::open(data) else {
        return Vec::new();
    };
    let mut all = data.prepare("SELECT n FROM notes ORDER BY n").unwrap();
    let numbers = all.query_map([], |row| row.get(0)).unwrap();
    numbers.map(Result::unwrap).collect()
}

/// What a person would say who looks into the data.
fn settled(desk: &Desk, outcome: &Value) -> Vec<String> {
    let noted = notes(desk);
    let asks = outcome["interrupts"].as_array().unwrap().iter();
    asks.flat_map(|ask| {
        assert_eq!(ask["kind"], "in_doubt", "{ask}");
        let call = ask["call"].as_str().unwrap();
        let number = usize::try_from(ask["arguments"]["n"].as_u64().unwrap()).unwrap();
        if noted.contains(&number) {
            ["--done".to_owned(), format!("{call}={{\"changed\":1}}")]
        } else {
            ["--repeat".to_owned(), call.to_owned()]
        }
    })
    .collect()
}

/// How an attempt ended: killed, or with its outcome.
fn attempt(desk: &Desk, arguments: &[String], lines: usize) -> Option<(Option<i32>, Value)> {
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let mut command = desk.command(&[&arguments[..], &["--events"]].concat());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut last: Option<String> = None;
    for _ in 0..lines {
        let Some(line) = said.next() else {
            let status = child.wait().unwrap().code();
            return Some((status, serde_json::from_str(&last?).unwrap()));
        };
        last = Some(line.unwrap());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

#[test]
fn no_effect_is_repeated_and_none_is_lost() {
    let desk = desk();
    let words = |words: &[&str]| -> Vec<String> { words.iter().map(|&w| w.into()).collect() };
    let mut arguments = words(&["run", ".", "--thread", "demo", "--input", "go"]);
    // Where a kill lands is drawn, with a seed of its own for each kill.
    let (mut kills, mut drawn) = (0, 7_usize);
    loop {
        drawn = drawn.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        let lines = if kills < KILLS {
            drawn >> 16 & 15
        } else {
            usize::MAX
        };
        match attempt(&desk, &arguments, lines) {
            None => {
                kills += 1;
                arguments = words(&["resume", "demo"]);
            }
            Some((Some(0), outcome)) => {
                assert_eq!(outcome["steps"], STEPS, "{outcome}");
                break;
            }
            Some((Some(3), outcome)) => {
                arguments = words(&["resume", "demo"]);
                arguments.extend(settled(&desk, &outcome));
            }
            // Killed before anything was recorded: there is no run yet.
            Some((Some(2), outcome)) => {
                let code = outcome["error"]["code"].as_str().unwrap();
                assert!(["RAG0401", "RAG0419"].contains(&code), "{outcome}");
                arguments = words(&["run", ".", "--thread", "demo", "--input", "go"]);
            }
            Some((status, outcome)) => panic!("{status:?}: {outcome}"),
        }
    }
    assert_eq!(kills, KILLS);
    assert_eq!(notes(&desk), (1..=STEPS).collect::<Vec<_>>());
    let checked = desk.rag(&["doctor", "--full"]);
    assert_eq!(checked.status, Some(0), "{checked:?}");
}

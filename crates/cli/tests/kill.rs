//! The program is killed at every write, and at random moments; what counts is
//! the same afterwards.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::{Desk, REFUND, Said};

/// Which process of the story is killed, and where.
struct Fault {
    process: usize,
    point: String,
}

/// What an undisturbed and a disturbed story must have in common: everything
/// but ids, clocks, attempts and epochs.
#[derive(Debug, PartialEq)]
struct Projection {
    output: Value,
    tokens: (Value, Value),
    history: Vec<String>,
    topic: Vec<String>,
    effects: Vec<String>,
    orders: Vec<String>,
}

/// Plays the story to its end: the refund is approved first, the claim then. A
/// process that was killed is followed by a resume. Says whether one was killed.
fn play(desk: &mut Desk, fault: Option<&Fault>) -> (bool, Said) {
    let arm = |desk: &mut Desk, process: usize| {
        let armed = fault.filter(|fault| fault.process == process);
        desk.set_fault(armed.map(|fault| fault.point.clone()));
    };
    let (mut killed, mut process) = (false, 0);
    arm(desk, process);
    let mut said = desk.run_refund();
    for _ in 0..20 {
        desk.set_fault(None);
        said = match said.status {
            None => {
                killed = true;
                let resumed = desk.resume(&[]);
                if resumed.has_no_run() {
                    desk.run_refund()
                } else {
                    resumed
                }
            }
            Some(3) => {
                let options = decide(desk, &said);
                process += 1;
                arm(desk, process);
                desk.resume(&options)
            }
            _ => return (killed, said),
        };
    }
    panic!("no end after twenty processes: {said:?}");
}

/// What a person says next.
fn decide(desk: &Desk, said: &Said) -> Vec<String> {
    let asks = said.interrupts();
    if let Some(ask) = asks.iter().find(|ask| ask["kind"] == "in_doubt") {
        let call = ask["call"].as_str().unwrap();
        return match result_in_the_data(desk, ask["tool"].as_str().unwrap()) {
            Some(result) => vec!["--done".into(), format!("{call}={result}")],
            None => vec!["--repeat".into(), call.into()],
        };
    }
    let refund = asks
        .iter()
        .find(|ask| ask["tool"] == "refund")
        .unwrap_or(&asks[0]);
    let (call, hash) = (
        refund["call"].as_str().unwrap(),
        refund["hash"].as_str().unwrap(),
    );
    vec!["--approve".into(), format!("{call}@{hash}")]
}

/// The result that the call would have had, if the data shows that it happened.
fn result_in_the_data(desk: &Desk, tool: &str) -> Option<Value> {
    match tool {
        "refund" if desk.order("A-1042", "status").as_deref() == Some("refunded") => {
            Some(json!({"rows": [{"id": "A-1042", "status": "refunded", "paid_cents": 12900}]}))
        }
        "open_claim" if desk.order("A-1042", "claim").as_deref() == Some("open") => {
            Some(json!({"rows": [{"id": "A-1042", "claim": "open"}]}))
        }
        _ => None,
    }
}

fn project(desk: &Desk, said: &Said) -> Projection {
    let whole = said.json();
    let usage = &whole["usage"];
    let ids: Vec<Value> = desk
        .journal("SELECT body FROM records WHERE kind = 'graph.checkpoint' ORDER BY id")
        .iter()
        .flat_map(|body| deltas(body, "messages"))
        .flat_map(|delta| delta["messages"].as_array().unwrap().clone())
        .collect();
    let history = ids.iter().map(|id| {
        let id = id.as_str().unwrap();
        let rows = desk.journal(&format!("SELECT body FROM messages WHERE name = '{id}'"));
        without_ids(&rows[0])
    });
    let topic = desk.journal("SELECT body FROM records WHERE kind = 'graph.checkpoint'");
    let topic = topic
        .iter()
        .flat_map(|body| deltas(body, "topic"))
        .map(|delta| delta.to_string());
    let orders =
        rusqlite::Connection::open(desk.path().join(".rustagents/data/orders.db")).unwrap();
    let mut orders = orders
        .prepare("SELECT id || item || paid_cents || status || coalesce(claim, '') FROM orders")
        .unwrap();
    Projection {
        output: whole["output"].clone(),
        tokens: (
            usage["input_tokens"].clone(),
            usage["output_tokens"].clone(),
        ),
        history: history.collect(),
        topic: topic.collect(),
        effects: effects(desk),
        orders: orders
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect(),
    }
}

/// The changes of one channel in a checkpoint.
fn deltas(body: &str, channel: &str) -> Vec<Value> {
    let checkpoint: Value = serde_json::from_str(body).unwrap();
    let deltas = checkpoint["deltas"].as_array().unwrap().iter();
    deltas
        .filter(|delta| delta[0] == channel)
        .map(|delta| delta[1].clone())
        .collect()
}

/// Every recorded effect: what it was, its input, how it ended. As a sorted list,
/// so its counts count.
fn effects(desk: &Desk) -> Vec<String> {
    let rows = desk.journal(
        "SELECT key, effect, hex(digest), body FROM records
          WHERE kind = 'effect.result' AND key NOT LIKE '%/released/%'",
    );
    let mut effects: Vec<_> = rows
        .iter()
        .map(|row| {
            let [key, effect, digest, body] =
                row.splitn(4, '|').collect::<Vec<_>>().try_into().unwrap();
            let body: Value = serde_json::from_str(body).unwrap();
            if key.starts_with("model/") {
                return format!("{key} {effect} {} {}", body["finish"], body["usage"]);
            }
            // What a person settled as done, is done.
            let end = body["end"]
                .as_str()
                .unwrap()
                .trim_start_matches("settled_")
                .to_owned();
            format!("{} {effect} {digest} {end}", body["tool"])
        })
        .collect();
    effects.sort();
    effects
}

/// Replaces ids of calls and messages, which a crash may count on.
fn without_ids(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest
        .find("\"c-")
        .or(None)
        .into_iter()
        .chain(rest.find("\"m-"))
        .min()
    {
        let (before, id) = rest.split_at(at);
        out.push_str(before);
        let digits = id[3..].find(|c: char| !c.is_ascii_digit()).unwrap();
        out.push_str(&id[..3]);
        rest = &id[3 + digits..];
    }
    out + rest
}

fn undisturbed() -> Projection {
    let mut desk = Desk::new();
    let (killed, said) = play(&mut desk, None);
    assert!(!killed);
    assert_eq!(said.status, Some(0), "{said:?}");
    let projection = project(&desk, &said);
    assert_eq!(projection.history.len(), 12, "{:#?}", projection.history);
    assert_eq!(
        projection.effects.len(),
        12,
        "eight of the model, four of tools"
    );
    assert_eq!(desk.order("A-1042", "status").as_deref(), Some("refunded"));
    projection
}

/// Kills one process of the story at each of its writes in turn.
fn killed_at_every_write_of(process: usize, at_least: u32) {
    let expected = undisturbed();
    for side in ["before", "after"] {
        for write in 1.. {
            let fault = Fault {
                process,
                point: format!("{side}:{write}"),
            };
            let mut desk = Desk::new();
            let (killed, said) = play(&mut desk, Some(&fault));
            assert_eq!(said.status, Some(0), "{}: {said:?}", fault.point);
            assert_eq!(project(&desk, &said), expected, "{}", fault.point);
            if !killed {
                assert!(
                    write > at_least,
                    "process {process} made {} writes",
                    write - 1
                );
                break;
            }
        }
    }
}

#[test]
fn killed_at_every_write_of_the_run() {
    killed_at_every_write_of(0, 8);
}

#[test]
fn killed_at_every_write_of_the_first_resume() {
    killed_at_every_write_of(1, 5);
}

#[test]
fn killed_at_every_write_of_the_second_resume() {
    killed_at_every_write_of(2, 6);
}

#[test]
fn killed_at_any_moment() {
    let expected = undisturbed();
    for moment in (0_u64..60).step_by(4) {
        let mut desk = Desk::new();
        let mut child = desk.spawn(&["run", ".", "--thread", "demo", "--input", REFUND, "--json"]);
        // Where the kill lands does not matter; that it lands in many places does.
        std::thread::sleep(Duration::from_millis(moment));
        child.kill().unwrap();
        child.wait().unwrap();
        let resumed = desk.resume(&[]);
        if resumed.status == Some(2) {
            assert!(
                resumed.has_no_run(),
                "killed after {moment} ms: {resumed:?}"
            );
            let (_, said) = play(&mut desk, None);
            assert_eq!(project(&desk, &said), expected);
            continue;
        }
        assert_eq!(resumed.status, Some(3), "{resumed:?}");
        let said = to_the_end(&desk, resumed);
        assert_eq!(project(&desk, &said), expected, "killed after {moment} ms");
    }
}

fn to_the_end(desk: &Desk, mut said: Said) -> Said {
    for _ in 0..9 {
        if said.status != Some(3) {
            return said;
        }
        said = desk.resume(&decide(desk, &said));
    }
    panic!("no end: {said:?}");
}

/// A desk whose refund happened, and whose result was lost.
fn lost_refund() -> (Desk, Said) {
    for write in 1..20 {
        let mut desk = Desk::new();
        let said = desk.run_refund();
        desk.set_fault(Some(format!("before:{write}")));
        let killed = desk.resume(&decide(&desk, &said));
        assert_eq!(killed.status, None, "the first resume makes more writes");
        desk.set_fault(None);
        if desk.order("A-1042", "status").as_deref() == Some("refunded") {
            let said = desk.resume(&[]);
            return (desk, said);
        }
    }
    panic!("the refund never happened");
}

#[test]
fn a_lost_refund_is_in_doubt_and_never_repeated_by_itself() {
    let (desk, said) = lost_refund();
    assert_eq!(said.status, Some(3));
    let doubt = said
        .interrupts()
        .into_iter()
        .find(|ask| ask["kind"] == "in_doubt")
        .unwrap();
    assert_eq!(doubt["tool"], "refund");
    let again = desk.resume(&[]);
    assert_eq!(
        (again.status, again.interrupts()),
        (Some(3), said.interrupts())
    );
    let blind = desk.rag(&["resume", "demo", "--json", "--done", "c-99={}"]);
    assert_eq!((blind.status, blind.code()), (Some(2), "RAG0402".into()));
    let person = desk.rag(&["resume", "demo"]);
    for option in ["--done", "--not-done", "--repeat"] {
        assert!(person.stderr.contains(option), "{}", person.stderr);
    }
}

#[test]
fn not_done_tells_the_model_that_nothing_happened() {
    let (desk, said) = lost_refund();
    let doubt = said
        .interrupts()
        .into_iter()
        .find(|ask| ask["kind"] == "in_doubt")
        .unwrap();
    let options = vec![
        "--not-done".to_owned(),
        doubt["call"].as_str().unwrap().to_owned(),
    ];
    let said = to_the_end(&desk, desk.resume(&options));
    assert_eq!(said.status, Some(0));
    let output = said.json()["output"].as_str().unwrap().to_owned();
    assert!(
        output.starts_with("No refund: the call was not executed."),
        "{output}"
    );
}

#[test]
fn repeat_makes_the_call_again_and_is_its_own_approval() {
    let (desk, said) = lost_refund();
    let doubt = said
        .interrupts()
        .into_iter()
        .find(|ask| ask["kind"] == "in_doubt")
        .unwrap();
    let options = vec![
        "--repeat".to_owned(),
        doubt["call"].as_str().unwrap().to_owned(),
    ];
    let said = to_the_end(&desk, desk.resume(&options));
    let output = said.json()["output"].as_str().unwrap().to_owned();
    // The order is refunded already, so the statement finds no row and says so.
    assert!(output.starts_with("No refund: expected 1 row"), "{output}");
    assert_eq!(desk.order("A-1042", "status").as_deref(), Some("refunded"));
}

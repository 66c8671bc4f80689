//! Going back, trying again and changing the state, killed at each write: the thread
//! can be read, and stands as before or as after.

use serde_json::{Value, json};

use crate::bench::{Desk, Said, approvals};

fn rag(desk: &Desk, arguments: &str) -> Said {
    desk.rag(&arguments.split(' ').collect::<Vec<_>>())
}

/// How the thread stands: all that is the same in each play of the story.
fn stands(desk: &Desk) -> Value {
    let show = rag(desk, "threads show demo --json").json();
    let history = rag(desk, "threads history demo --json").json();
    let rows = history["checkpoints"].as_array().unwrap().iter().cloned();
    let rows = rows.map(|mut row| {
        row["at"].take();
        row["run"].take();
        row
    });
    let state = rag(desk, "threads show demo --state --json").json();
    let asks = show["interrupts"].as_array().unwrap().iter();
    let whole = json!({
        "status": show["status"],
        "attempts": show["attempts"],
        "output": show["output"],
        "asks": asks.map(|ask| ask["id"].clone()).collect::<Vec<_>>(),
        "history": rows.collect::<Vec<_>>(),
        "state": state["state"],
        "next": state["next"],
    });
    let doctor = rag(desk, "doctor --full");
    assert_eq!(doctor.status, Some(0), "{doctor:?}\n{whole:#}");
    whole
}

/// What a thread went through.
struct Story {
    /// Makes the thread.
    begins: fn() -> Desk,
    /// What is killed.
    action: &'static str,
    /// The exit status of the action, where nobody kills it.
    ends: i32,
}

/// A killed process, and how the thread stands then.
struct Killed {
    desk: Desk,
    point: String,
    now: Value,
}

impl Story {
    /// Kills the action at each of its writes, on both sides of it, and hands each
    /// desk to `check`; says how the thread stands before and after.
    fn killed(&self, at_least: u32, check: impl Fn(Killed, &Value, &Value)) {
        let desk = (self.begins)();
        let before = stands(&desk);
        let done = rag(&desk, self.action);
        assert_eq!(done.status, Some(self.ends), "{done:?}");
        let after = stands(&desk);
        assert_ne!(before, after);
        for side in ["before", "after"] {
            for write in 1.. {
                let point = format!("{side}:{write}");
                let mut desk = (self.begins)();
                desk.set_fault(Some(point.clone()));
                let said = rag(&desk, self.action);
                desk.set_fault(None);
                if said.status.is_some() {
                    assert_eq!(said.status, Some(self.ends), "{said:?}");
                    assert!(
                        write > at_least,
                        "{} made {} writes",
                        self.action,
                        write - 1
                    );
                    break;
                }
                let now = stands(&desk);
                check(Killed { desk, point, now }, &before, &after);
            }
        }
    }
}

/// The action once more where it did not happen; in the end the thread stands as if
/// nobody had killed anything.
fn before_or_after(action: &str, killed: &Killed, before: &Value, after: &Value) {
    let Killed { desk, point, now } = killed;
    assert!(now == before || now == after, "{point}: {now:#}");
    if now == before {
        assert_eq!(rag(desk, action).status, Some(0), "{point}");
    }
    assert_eq!(&stands(desk), after, "{point}");
}

/// A desk with one clerk, so that each play of the story has the same ids.
fn one_clerk() -> Desk {
    let desk = Desk::new();
    desk.edit(
        "support.rag",
        "refund -> refunds, carrier",
        "refund -> refunds",
    );
    desk
}

fn denied() -> Desk {
    let desk = one_clerk();
    let waiting = desk.run_refund();
    let calls = waiting.interrupts();
    let calls = calls.iter().map(|ask| ask["call"].as_str().unwrap());
    let no: Vec<_> = calls
        .flat_map(|call| ["--deny".to_owned(), format!("{call}=no")])
        .collect();
    assert_eq!(desk.resume(&no).status, Some(0));
    desk
}

#[test]
fn a_rewind_that_is_killed_happened_or_did_not() {
    let action = "threads rewind demo@2";
    let story = Story {
        begins: denied,
        action,
        ends: 0,
    };
    story.killed(2, |killed, before, after| {
        before_or_after(action, &killed, before, after);
        let asked = rag(&killed.desk, "resume demo --json");
        assert_eq!(asked.status, Some(3), "{}: {asked:?}", killed.point);
        let done = killed.desk.resume(&approvals(&asked));
        assert_eq!(done.status, Some(0), "{}: {done:?}", killed.point);
        let order = killed.desk.order("A-1042", "status");
        assert_eq!(order.as_deref(), Some("refunded"), "{}", killed.point);
    });
}

fn waiting() -> Desk {
    let desk = one_clerk();
    assert_eq!(desk.run_refund().status, Some(3));
    desk
}

#[test]
fn a_rewind_that_gives_up_a_run_which_waits_happened_or_did_not() {
    let action = "threads rewind demo@1";
    let story = Story {
        begins: waiting,
        action,
        ends: 0,
    };
    story.killed(2, |killed, before, after| {
        before_or_after(action, &killed, before, after);
        let asked = rag(&killed.desk, "resume demo --json");
        assert_eq!(asked.status, Some(3), "{}: {asked:?}", killed.point);
    });
}

#[test]
fn an_update_that_is_killed_happened_or_did_not() {
    let action = r#"threads update demo --set messages="By_phone." --as refunds"#;
    let story = Story {
        begins: waiting,
        action,
        ends: 0,
    };
    story.killed(2, |killed, before, after| {
        before_or_after(action, &killed, before, after);
        let done = rag(&killed.desk, "resume demo --json");
        assert_eq!(done.status, Some(0), "{}: {done:?}", killed.point);
    });
}

/// A desk whose run failed at its last node.
fn failed() -> Desk {
    let desk = Desk::new();
    let script = std::fs::read_to_string(desk.path().join("script.toml")).unwrap();
    desk.write(
        "script.toml",
        r#"rule = [{ system = "^Triage", text = "other" }]"#,
    );
    let run = ["run", ".", "--thread", "demo", "--input", "hello", "--json"];
    let said = desk.rag(&run);
    assert_eq!((said.status, &*said.code()), (Some(1), "RAG0504"));
    desk.write("script.toml", script);
    desk
}

#[test]
fn a_retry_that_is_killed_goes_on_from_where_it_was() {
    let story = Story {
        begins: failed,
        action: "threads retry demo",
        ends: 0,
    };
    let output = |desk: &Desk| rag(desk, "resume demo --json").json()["output"].clone();
    let ended = failed();
    assert_eq!(rag(&ended, story.action).status, Some(0));
    let expected = output(&ended);
    story.killed(3, |killed, before, after| {
        let Killed { desk, point, now } = &killed;
        // As before; as after; or the reopened run on its way, which is resumed.
        let is_open = now["status"] == "unfinished" && now["history"] == before["history"];
        assert!(now == before || now == after || is_open, "{point}: {now:#}");
        if now == before {
            assert_eq!(rag(desk, "threads retry demo").status, Some(0), "{point}");
        } else {
            assert_eq!(rag(desk, "resume demo").status, Some(0), "{point}");
        }
        let then = stands(desk);
        for part in ["status", "history", "state", "output", "next"] {
            assert_eq!(then[part], after[part], "{point}: {part}");
        }
        assert_eq!(output(desk), expected, "{point}");
    });
}

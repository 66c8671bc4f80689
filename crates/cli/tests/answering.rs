//! `rag resume` with answers for a thread that another process drives.

use serde_json::{Value, json};

use crate::bench::{Desk, Said};

/// A clerk who asks at once, beside one whose call waits for the file `go`.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.write(
        "support.rag",
        r#"graph uneven {
  channel messages messages
  start pay, wait
  node pay { kind agent  model "default"  prompt "Pay."  tools ["refund"]  next END }
  node wait { kind agent  model "default"  prompt "Wait."  tools ["wait"]  next END }
}"#,
    );
    desk.write(
        "script.toml",
        r#"rule = [
  { system = "^Pay", last = "user", call = "refund", arguments = '{"order":"A-1042","amount_cents":12900}' },
  { system = "^Wait", last = "user", call = "wait", arguments = "{}" },
  { text = "done" },
]"#,
    );
    let tool = r#"
[tools.wait]
kind = "command"
description = "Wait for somebody."
arguments = { type = "object", additionalProperties = false }
approval = "allow"
command = ["sh", "-c", "until test -e go; do sleep 0.05; done"]
"#;
    let config = std::fs::read_to_string(desk.path().join("rustagents.toml")).unwrap();
    desk.write("rustagents.toml", config + tool);
    desk
}

/// The question of the thread, as `show` tells it.
fn asked(desk: &Desk, store: &[&str]) -> Value {
    let show = [&["threads", "show", "demo", "--json"], store].concat();
    loop {
        let said = desk.rag(&show);
        if said.status == Some(0)
            && let Some(ask) = said.json()["interrupts"].get(0)
        {
            return ask.clone();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn an_answer_reaches_the_process_that_drives_the_thread() {
    for store in [&[][..], &["--store", "file:threads"]] {
        let desk = desk();
        let run = ["run", ".", "--thread", "demo", "--input", "go", "--json"];
        let driver = desk.spawn(&[&run[..], store].concat());
        let ask = asked(&desk, store);
        let call = ask["call"].as_str().unwrap();
        let approve = format!("{call}@{}", ask["hash"].as_str().unwrap());
        let answer = ["resume", "demo", "--json", "--approve", &approve];
        let said = desk.rag(&[&answer[..], store].concat());
        assert_eq!(said.status, Some(0), "{said:?}");
        let object = said.json();
        assert_eq!(object["schema"], "rag.answered/1");
        assert_eq!(object["answered"], json!([call]));
        assert_eq!(object["driver"]["process"], driver.id());
        let again = desk.rag(&[&answer[..], store].concat());
        assert_eq!((again.status, &*again.code()), (Some(2), "RAG0404"));

        desk.write("go", "");
        let said = Said::of(driver.wait_with_output().unwrap());
        assert_eq!(said.status, Some(0), "{said:?}");
        assert_eq!(said.json()["status"], "completed");
        assert_eq!(desk.order("A-1042", "status").as_deref(), Some("refunded"));
    }
}

#[test]
fn what_answers_no_question_yet_finds_the_thread_driven() {
    let desk = desk();
    let driver = desk.spawn(&["run", ".", "--thread", "demo", "--input", "go", "--json"]);
    asked(&desk, &[]);
    let said = desk.rag(&["resume", "demo", "--json", "--approve", "c-77"]);
    assert_eq!((said.status, &*said.code()), (Some(5), "RAG0305"));
    desk.write("go", "");
    let said = Said::of(driver.wait_with_output().unwrap());
    assert_eq!(said.status, Some(3), "{said:?}");
}

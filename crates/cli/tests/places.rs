//! Stores on a disk that is full, and in places that cannot be written to.

use std::process::Command;

use crate::bench::{Desk, REFUND, Said};

/// How many bytes a step of the limit has: those of a page.
const PAGE: u64 = 4_096;

/// Runs the program where no file may have more than `bytes`.
fn limited(desk: &Desk, bytes: u64, arguments: &[&str]) -> Said {
    let rag = desk.command(arguments);
    // A shell's block has 512 bytes. The signal would end the program; without it,
    // writing fails as it does on a disk that is full.
    let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", bytes / 512);
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh"]).arg(rag.get_program());
    command.args(rag.get_args()).current_dir(desk.path());
    for (name, value) in rag.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Said::of(command.output().unwrap())
}

/// The records of a thread, in order.
fn records(desk: &Desk, thread: &str) -> Vec<String> {
    desk.journal(&format!(
        "SELECT (s.start & 4294967295) + r.id - s.id, r.kind, r.key, r.body
           FROM threads t JOIN record_spans s ON s.start >> 32 = t.id
           JOIN records r ON r.id BETWEEN s.id AND coalesce(s.last, 9223372036854775807)
          WHERE t.name = '{thread}' ORDER BY r.id"
    ))
}

#[test]
fn a_disk_that_is_full_at_any_page_is_an_error_and_the_thread_goes_on() {
    let desk = Desk::new();
    assert_eq!(desk.run_refund().status, Some(3));
    let first = records(&desk, "demo");
    let (mut failed, mut opened, mut step) = (0, 0, 0);
    loop {
        step += 1;
        let thread = format!("t-{step}");
        let run = ["run", ".", "--thread", &thread, "--input", REFUND, "--json"];
        let said = limited(&desk, step * PAGE, &run);
        assert!(!said.stderr.contains("panicked"), "{said:?}");
        if said.status == Some(3) {
            break;
        }
        let before = records(&desk, &thread);
        assert_eq!(said.code(), "RAG0301", "{step}: {said:?}");
        // What is refused has recorded nothing; what failed may have.
        let is_refused = said.status == Some(2) && before.is_empty();
        assert!(is_refused || said.status == Some(1), "{step}: {said:?}");
        failed += 1;
        let resume = ["resume", &thread, "--json"];
        let said = if before.is_empty() {
            desk.rag(&run)
        } else {
            opened += 1;
            desk.rag(&resume)
        };
        assert_eq!(said.status, Some(3), "{step}: {said:?}");
        let after = records(&desk, &thread);
        assert!(after.starts_with(&before), "{step}: {before:?}");
    }
    assert!(
        failed > 10 && opened > 3,
        "{failed} failed, {opened} opened"
    );
    assert_eq!(records(&desk, "demo"), first);
    let said = desk.rag(&["doctor", "--full"]);
    assert_eq!(said.status, Some(0), "{said:?}");
}

#[test]
fn a_place_that_cannot_be_written_to_is_an_error_before_anything_runs() {
    let desk = Desk::new();
    let before = desk.files();
    for place in ["support.rag/x", "support.rag/deep/x", "/proc/nowhere/x"] {
        for kind in ["sqlite", "file"] {
            let (folder, _) = place.rsplit_once('/').unwrap();
            let store = format!("{kind}:{place}");
            let said = desk.rag(&["run", ".", "--input", REFUND, "--store", &store, "--json"]);
            assert_eq!(
                (said.status, said.code()),
                (Some(2), "RAG0301".into()),
                "{store}: {said:?}"
            );
            let message = said.json()["error"]["message"].to_string();
            assert!(message.contains(folder), "{store}: {message}");
            assert_eq!(desk.files(), before, "{store}");
        }
    }
}

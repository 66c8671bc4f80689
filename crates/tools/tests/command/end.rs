//! However a call ends, nothing of its processes is left.

use std::{
    fs,
    task::{Context, Waker},
    time::{Duration, Instant},
};

use rustagents_core::{
    CancellationToken,
    canonical::Canonical,
    tool::{Executed, Tool, ToolContext, ToolErrorKind},
};
use rustagents_tools::command::{CommandTool, Declaration, Stdin};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;

use super::process::{Desk, at_work, call, context, failed, until};

const SHORT: Duration = Duration::from_millis(300);

/// Starts a process that stays behind, and tells the group's number.
const FAMILY: &str = "sleep 300 & echo $$ > pid; ";

/// The tool's call with a time limit, or cancelled once it runs.
async fn stopped(desk: &Desk, declaration: Declaration, kind: ToolErrorKind) -> String {
    let tool = CommandTool::new(declaration).unwrap();
    let cancel = CancellationToken::new();
    let mut context = ToolContext {
        cancel: cancel.clone(),
        ..context()
    };
    if kind == ToolErrorKind::Timeout {
        context.timeout = SHORT;
    }
    let call = tool.call(Canonical::of(&json!({ "a": 1 })), context);
    let (result, ()) = tokio::join!(call, async {
        while kind == ToolErrorKind::Cancelled && !cancel.is_cancelled() {
            tokio::time::sleep(Duration::from_millis(2)).await;
            if fs::read_to_string(desk.path().join("pid")).is_ok_and(|pid| pid.ends_with('\n')) {
                cancel.cancel();
            }
        }
    });
    failed(result, Executed::Unknown, kind)
}

#[tokio::test]
async fn a_call_that_is_stopped_leaves_nothing() {
    for (kind, says) in [
        (ToolErrorKind::Timeout, "the program took longer than 300ms"),
        (ToolErrorKind::Cancelled, "the program was cancelled"),
    ] {
        let desk = Desk::new();
        for declaration in desk.both(&format!("{FAMILY} sleep 300")) {
            let began = Instant::now();
            assert_eq!(stopped(&desk, declaration, kind).await, says);
            assert!(began.elapsed() < Duration::from_secs(5));
            assert_eq!(at_work(desk.number("pid")), 0);
            fs::remove_file(desk.path().join("pid")).unwrap();
        }
    }
}

#[tokio::test]
async fn a_program_is_asked_to_stop_before_it_is_made_to() {
    let desk = Desk::new();
    let [_, writes] =
        desk.both("trap 'echo bye > said; exit 0' TERM; echo $$ > pid; sleep 300 & wait");
    stopped(&desk, writes, ToolErrorKind::Cancelled).await;
    assert_eq!(
        fs::read_to_string(desk.path().join("said")).unwrap(),
        "bye\n"
    );
    assert_eq!(at_work(desk.number("pid")), 0);
}

#[tokio::test]
async fn a_program_that_does_not_listen_is_killed() {
    let desk = Desk::new();
    // It also writes without end, which must not hold the end up.
    let [_, writes] = desk.both("trap '' TERM; yes & echo $$ > pid; while :; do sleep 1; done");
    let began = Instant::now();
    stopped(&desk, writes, ToolErrorKind::Cancelled).await;
    assert!(
        began.elapsed() < Duration::from_millis(1_900),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(at_work(desk.number("pid")), 0);
}

#[tokio::test]
async fn a_program_that_ends_leaves_nothing() {
    let desk = Desk::new();
    for declaration in desk.both(&format!("{FAMILY} echo done")) {
        let began = Instant::now();
        // What stays behind holds the pipes open.
        let result = call(declaration, json!({})).await.unwrap();
        assert_eq!(result, json!({ "status": 0, "stdout": "done\n" }));
        assert!(began.elapsed() < Duration::from_secs(5));
        assert_eq!(at_work(desk.number("pid")), 0);
    }
}

#[tokio::test]
async fn a_process_that_left_the_group_does_not_hold_the_call_up() {
    let desk = Desk::new();
    let script = "setsid sh -c 'echo $$ > pid; exec sleep 300' & \
                  while ! [ -s pid ]; do sleep 0.01; done; echo done";
    for declaration in desk.both(script) {
        let began = Instant::now();
        let result = call(declaration, json!({})).await.unwrap();
        assert_eq!(result["stdout"], "done\n");
        assert!(began.elapsed() < Duration::from_secs(4));
        let left = desk.number("pid");
        assert_eq!(at_work(left), 1, "it is not followed");
        kill_process_group(Pid::from_raw(left).unwrap(), Signal::KILL).unwrap();
        fs::remove_file(desk.path().join("pid")).unwrap();
    }
}

#[tokio::test]
async fn too_much_output_leaves_nothing() {
    let desk = Desk::new();
    let [reads, _] = desk.both(&format!("{FAMILY} yes"));
    let result = call(reads, json!({})).await;
    failed(result, Executed::Unknown, ToolErrorKind::OutputTooLarge);
    assert_eq!(at_work(desk.number("pid")), 0);
}

#[tokio::test]
async fn a_dropped_future_leaves_nothing() {
    let desk = Desk::new();
    let [_, writes] = desk.both(&format!("{FAMILY} trap '' TERM; sleep 300"));
    let tool = CommandTool::new(writes).unwrap();
    let mut call = tool.call(Canonical::of(&json!({})), context());
    let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending());
    let group = desk.number("pid");
    until("the family runs", || at_work(group) >= 2);
    drop(call);
    until("the family is gone", || at_work(group) == 0);
}

#[tokio::test]
async fn a_program_that_never_reads_is_stopped_in_time() {
    let desk = Desk::new();
    let declaration = Declaration {
        stdin: Stdin::Arguments,
        ..desk.writes(&["sleep", "300"])
    };
    let tool = CommandTool::new(declaration).unwrap();
    let context = ToolContext {
        timeout: SHORT,
        ..context()
    };
    let large = json!({ "a": "x".repeat(1 << 20) });
    let result = tool.call(Canonical::of(&large), context).await;
    failed(result, Executed::Unknown, ToolErrorKind::Timeout);
}

#[tokio::test]
async fn calls_side_by_side_do_not_meet() {
    let desk = Desk::new();
    let tool = CommandTool::new(desk.reads(&["sh", "-c", "sleep 0.1; echo $1", "-", "{{ a }}"]));
    let tool = tool.unwrap();
    let calls = (0..20).map(|n| tool.call(Canonical::of(&json!({ "a": n })), context()));
    let tasks: Vec<_> = futures_of(calls).await;
    for (n, result) in tasks.into_iter().enumerate() {
        assert_eq!(result.unwrap()["stdout"], format!("{n}\n"));
    }
}

/// All at once, in order.
async fn futures_of<F: Future + Unpin>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut open: Vec<_> = futures.map(Some).collect();
    let mut done: Vec<_> = open.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (future, done) in open.iter_mut().zip(&mut done) {
            if let Some(running) = future
                && let std::task::Poll::Ready(output) = std::pin::Pin::new(running).poll(cx)
            {
                *done = Some(output);
                *future = None;
            }
        }
        if open.iter().any(Option::is_some) {
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(())
    })
    .await;
    done.into_iter().flatten().collect()
}

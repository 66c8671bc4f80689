//! The trace of a call, and what a later process makes of it.

use std::{
    fs,
    os::unix::process::CommandExt,
    process::{Child, Command},
    sync::Arc,
    time::{Duration, Instant},
};

use rustagents_core::{
    CancellationToken,
    canonical::Canonical,
    digest::Digest,
    ids::{Branch, CallId, ThreadId},
    journal::{Journal, Owner},
    log::ThreadLog,
    scope::Scope,
    tool::{EffectClass, Executed, Reconciled, Tool, ToolContext, ToolErrorKind, Trace},
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_testkit::drive;
use rustagents_tools::command::{CommandTool, IDEMPOTENCY_KEY};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use super::process::{Desk, at_work, at_work_in, context, failed, until};

const SHORT: Duration = Duration::from_millis(200);

/// A context whose trace is kept in `journal`.
async fn traced(journal: Arc<dyn Journal>) -> ToolContext {
    let thread = ThreadId::new("t").unwrap();
    let claim = journal.claim(&thread, Owner::default()).await.unwrap();
    let log = ThreadLog::load_whole(&*journal, &thread).await.unwrap();
    let scope = Scope::root(drive::shared(journal, thread, &claim, log));
    let digest = Digest::of(b"{}");
    ToolContext {
        trace: Trace::new(
            scope.facts(),
            CallId::numbered(1),
            1,
            EffectClass::Once,
            digest,
        ),
        ..context()
    }
}

/// A program of a process that crashed, whose group nobody else ends.
struct Orphan {
    child: Child,
    trace: Value,
}

impl Orphan {
    /// Starts the script as a call does, and waits for its word.
    fn start(desk: &Desk, script: &str) -> Self {
        let child = Command::new("sh")
            .args(["-c", &format!("{script} echo $$ > pid; {HOLD}")])
            .current_dir(desk.path())
            .env(IDEMPOTENCY_KEY, context().idempotency_key.to_string())
            .process_group(0)
            .spawn()
            .unwrap();
        let pid = desk.number("pid");
        let trace = json!({
            "pid": pid,
            "start": start(pid),
            "boot": fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim(),
            "namespace": fs::read_link("/proc/self/ns/pid").unwrap().to_str().unwrap(),
        });
        Self { child, trace }
    }

    fn group(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Lets the script end.
    fn release(&mut self, desk: &Desk) {
        fs::write(desk.path().join("go"), "").unwrap();
        self.child.wait().unwrap();
    }
}

/// Nothing is left, whatever a test expected.
impl Drop for Orphan {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.group()).unwrap();
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Waits for the test, and starts nothing that would outlive the script.
const HOLD: &str = "while ! [ -e go ]; do sleep 0.01; done";

fn start(pid: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    rest.split_whitespace().nth(19).unwrap().parse().unwrap()
}

/// Lets a tool look at a trace; it may take [`SHORT`].
async fn look(desk: &Desk, trace: Value, context: ToolContext) {
    let tool = CommandTool::new(desk.writes(&["true"])).unwrap();
    let context = ToolContext {
        timeout: SHORT,
        ..context
    };
    let found = tool.reconcile(trace, context).await;
    assert!(matches!(found, Reconciled::Lost), "{found:?}");
}

#[tokio::test]
async fn a_program_is_recorded_while_it_runs() {
    let desk = Desk::new();
    let journal = Arc::new(MemoryJournal::new());
    let context = traced(journal.clone()).await;
    let [_, writes] = desk.both("echo $$; while ! [ -e go ]; do sleep 0.01; done");
    let tool = CommandTool::new(writes).unwrap();
    let call = tool.call(Canonical::of(&json!({})), context);
    let (result, started) = tokio::join!(call, async {
        let key = Trace::key(&CallId::numbered(1), 1);
        loop {
            tokio::time::sleep(Duration::from_millis(2)).await;
            let thread = ThreadId::new("t").unwrap();
            let log = ThreadLog::load_whole(&*journal, &thread).await.unwrap();
            if let Some(record) = log.fact(&Branch::main(), &key) {
                let started: Value = serde_json::from_str(&record.body).unwrap();
                let pid = i32::try_from(started["pid"].as_i64().unwrap()).unwrap();
                assert_eq!(started["start"], start(pid));
                fs::write(desk.path().join("go"), "").unwrap();
                return started;
            }
        }
    });
    let pid = result.unwrap()["stdout"]
        .as_str()
        .unwrap()
        .trim()
        .to_owned();
    assert_eq!(started["pid"].to_string(), pid);
    assert!(started["namespace"].as_str().unwrap().starts_with("pid:["));
    assert_eq!(started["boot"].as_str().unwrap().len(), 36);
}

#[tokio::test]
async fn a_program_that_cannot_be_recorded_is_killed() {
    let desk = Desk::new();
    for side in [Side::Before, Side::After] {
        // The claim is a write as well.
        let point = FaultPoint { write: 2, side };
        let inner = Arc::new(MemoryJournal::new());
        let journal = Arc::new(FaultJournal::new(inner, point, || {}));
        let context = traced(journal.clone()).await;
        let tool = CommandTool::new(desk.writes(&["sleep", "300"])).unwrap();
        let result = tool.call(Canonical::of(&json!({})), context).await;
        let message = failed(result, Executed::Unknown, ToolErrorKind::Failed);
        assert_eq!(message, "the start of the program could not be recorded");
        assert!(journal.is_dead());
        until("the program is gone", || at_work_in(desk.path()) == 0);
    }
}

#[tokio::test]
async fn what_still_runs_is_waited_for_and_then_ended() {
    let desk = Desk::new();
    let orphan = Orphan::start(&desk, "trap '' TERM; sleep 300 &");
    until("the family runs", || at_work(orphan.group()) >= 2);
    let began = Instant::now();
    look(&desk, orphan.trace.clone(), context()).await;
    assert!(began.elapsed() >= SHORT, "{:?}", began.elapsed());
    assert_eq!(at_work(orphan.group()), 0);
}

#[tokio::test]
async fn a_program_that_ends_meanwhile_is_not_ended() {
    let desk = Desk::new();
    let mut orphan = Orphan::start(&desk, "");
    let tool = CommandTool::new(desk.writes(&["true"])).unwrap();
    let found = tool.reconcile(orphan.trace.clone(), context());
    let (found, ()) = tokio::join!(found, async {
        tokio::time::sleep(SHORT).await;
        fs::write(desk.path().join("go"), "").unwrap();
    });
    assert!(matches!(found, Reconciled::Lost));
    assert!(orphan.child.wait().unwrap().success());
}

#[tokio::test]
async fn what_an_ended_program_left_in_its_group_is_ended() {
    let desk = Desk::new();
    let mut orphan = Orphan::start(&desk, "sleep 300 &");
    orphan.release(&desk);
    until("one is left", || at_work(orphan.group()) == 1);
    look(&desk, orphan.trace.clone(), context()).await;
    assert_eq!(at_work(orphan.group()), 0);
}

#[tokio::test]
async fn a_group_that_is_not_proven_to_be_the_calls_is_left_alone() {
    let desk = Desk::new();
    let mut orphan = Orphan::start(&desk, "sleep 300 &");
    let group = orphan.group();
    let changed = |key: &str, value: Value| {
        let mut trace = orphan.trace.clone();
        trace[key] = value;
        trace
    };
    let start = orphan.trace["start"].as_u64().unwrap();
    let strangers = [
        changed("boot", json!("another")),
        changed("boot", Value::Null),
        changed("namespace", json!("pid:[1]")),
        changed("start", Value::Null),
        // The number was given to another process since.
        changed("start", json!(start + 1_000_000)),
        json!({}),
        json!("pid"),
    ];
    for trace in strangers {
        look(&desk, trace.clone(), context()).await;
        assert!(at_work(group) >= 2, "{trace}");
    }
    // Another call's group got the number after the program was gone.
    orphan.release(&desk);
    until("one is left", || at_work(group) == 1);
    let other = ToolContext {
        idempotency_key: Digest::of(b"another call").into(),
        ..context()
    };
    look(&desk, orphan.trace.clone(), other).await;
    assert_eq!(at_work(group), 1);
}

#[tokio::test]
async fn a_cancelled_look_leaves_everything_as_it_is() {
    let desk = Desk::new();
    let orphan = Orphan::start(&desk, "");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let context = ToolContext {
        cancel,
        ..context()
    };
    look(&desk, orphan.trace.clone(), context).await;
    assert!(at_work(orphan.group()) >= 1);
}

//! One call, start to end.

use std::{path::PathBuf, process::Stdio, time::Duration};

use rustagents_core::{
    CancellationToken,
    canonical::Canonical,
    tool::{ToolContext, ToolError, ToolErrorKind},
};
use rustix::process::Signal;
use serde_json::Value;
use tokio::{
    process::Command,
    time::{self, Instant},
};

use super::{
    declaration::Stdin,
    environment::{Environment, IDEMPOTENCY_KEY},
    group::Group,
    mark::Mark,
    output::{Ended, Report},
    program,
    pump::{Over, Pump},
    template::Template,
};

/// How long a program that is told to stop has for that.
pub(super) const GRACE: Duration = Duration::from_millis(500);

/// How long pipes are read on after the program has ended. What it wrote is
/// there already; only a process that left the group can still hold them open.
const DRAIN: Duration = Duration::from_millis(500);

/// The most bytes of a program's errors that are kept.
const MAX_STDERR: usize = 4 << 10;

/// What every call of a tool has in common.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) template: Template,
    pub(super) base: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) environment: Environment,
    pub(super) stdin: Stdin,
    pub(super) report: Report,
}

/// Why a program is stopped.
#[derive(Clone, Copy, Debug)]
enum Stop {
    Timeout,
    Cancelled,
    Output,
}

impl Job {
    pub(super) async fn run(
        &self,
        arguments: Canonical,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        let deadline = Instant::now().checked_add(context.timeout);
        let mut command = self.command(&arguments, &context)?;
        if context.cancel.is_cancelled() {
            let message = "the call was cancelled before it began";
            return Err(ToolError::not_executed(ToolErrorKind::Cancelled, message));
        }
        let mut group = Group::spawn(&mut command).map_err(|error| self.not_started(error))?;
        let mark = Mark::of(group.pid()).to_value();
        if let Err(error) = context.trace.started(&mark).await {
            // Without a trace a later attempt could not find it.
            drop(group);
            let message = "the start of the program could not be recorded";
            return Err(ToolError::unknown(ToolErrorKind::Failed, message).with_source(error));
        }
        let mut pump = self.pump(&mut group, &arguments);
        match watch(&mut group, &mut pump, &context.cancel, deadline).await {
            None => self.finish(&mut group, &mut pump).await,
            Some(stop) => {
                end(&mut group, &mut pump).await;
                Err(self.stopped(stop, context.timeout))
            }
        }
    }

    /// The command that a call with `arguments` starts.
    fn command(&self, arguments: &Canonical, context: &ToolContext) -> Result<Command, ToolError> {
        let words = self.template.fill(arguments.value()).map_err(|misfit| {
            ToolError::not_executed(ToolErrorKind::Refused, misfit.to_string())
        })?;
        let unavailable = |message| ToolError::not_executed(ToolErrorKind::Unavailable, message);
        let name = &self.template.program;
        let program = program::find(name, &self.base, self.environment.get("PATH"))
            .ok_or_else(|| unavailable(format!("there is no program `{name}`")))?;
        if !self.folder.is_dir() {
            let folder = self.folder.display();
            return Err(unavailable(format!("there is no folder `{folder}`")));
        }
        let stdin = match self.stdin {
            Stdin::Nothing => Stdio::null(),
            Stdin::Arguments => Stdio::piped(),
        };
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.environment.variables())
            .env(IDEMPOTENCY_KEY, context.idempotency_key.to_string())
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok(command)
    }

    fn pump(&self, group: &mut Group, arguments: &Canonical) -> Pump {
        let input = format!("{}\n", arguments.text()).into_bytes();
        let limit = self.report.limit;
        let (tail, strict) = (MAX_STDERR.min(limit / 4), self.report.is_strict());
        Pump::new(&mut group.child, input, limit, tail, strict)
    }

    /// What came of a program that ended by itself.
    async fn finish(&self, group: &mut Group, pump: &mut Pump) -> Result<Value, ToolError> {
        let status = group.reap().await;
        // What is too much is found in the head as well.
        let _ = time::timeout(DRAIN, pump.run()).await;
        let status = status.map_err(|error| {
            let message = "how the program ended cannot be found out";
            ToolError::unknown(ToolErrorKind::Failed, message).with_source(error)
        })?;
        self.report.of(&Ended {
            status,
            head: &pump.head,
            tail: &pump.tail,
        })
    }

    /// The system tells of a failed start only after it undid it.
    fn not_started(&self, error: std::io::Error) -> ToolError {
        let kind = match error.kind() {
            std::io::ErrorKind::ArgumentListTooLong => ToolErrorKind::Refused,
            _ => ToolErrorKind::Unavailable,
        };
        let name = &self.template.program;
        let message = format!("the program `{name}` cannot be started: {error}");
        ToolError::not_executed(kind, message).with_source(error)
    }

    fn stopped(&self, stop: Stop, timeout: Duration) -> ToolError {
        let unknown = ToolError::unknown;
        match stop {
            Stop::Timeout => unknown(
                ToolErrorKind::Timeout,
                format!("the program took longer than {timeout:?}"),
            ),
            Stop::Cancelled => {
                unknown(ToolErrorKind::Cancelled, "the program was cancelled".into())
            }
            Stop::Output => self.report.too_large(),
        }
    }
}

/// Moves the pipes until the program ends, or has to be stopped.
async fn watch(
    group: &mut Group,
    pump: &mut Pump,
    cancel: &CancellationToken,
    deadline: Option<Instant>,
) -> Option<Stop> {
    let late = async {
        match deadline {
            Some(deadline) => time::sleep_until(deadline).await,
            // It lies past the end of time.
            None => std::future::pending().await,
        }
    };
    let mut late = std::pin::pin!(late);
    loop {
        tokio::select! {
            biased;
            () = group.ended() => return None,
            () = cancel.cancelled() => return Some(Stop::Cancelled),
            () = &mut late => return Some(Stop::Timeout),
            moved = pump.run(), if pump.is_open() => {
                if let Err(Over) = moved {
                    return Some(Stop::Output);
                }
            }
        }
    }
}

/// Ends a program with all that it started: it is asked to, and after the grace
/// it is made to. It may still write meanwhile, which is forgotten.
async fn end(group: &mut Group, pump: &mut Pump) {
    group.signal(Signal::TERM);
    // Pipes that are closed tell that nobody who holds them is at work any more.
    let quiet = async {
        let closed = async { while pump.is_open() && pump.run().await.is_err() {} };
        tokio::join!(group.ended(), closed);
    };
    let _ = time::timeout(GRACE, quiet).await;
    group.signal(Signal::KILL);
    if time::timeout(GRACE, group.ended()).await.is_ok() {
        let _ = group.reap().await;
    }
}

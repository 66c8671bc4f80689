//! One call of one tool, with its time limit, cancellation and panics contained.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::{
    FutureExt,
    future::{FusedFuture, pending, poll_immediate},
    select_biased,
};
use rustagents_core::{
    CancellationToken,
    scope::{Halt, Scope},
    tool::{
        EffectClass, IdempotencyKey, Reconciled, Tool, ToolContext, ToolError, ToolErrorKind, Trace,
    },
};
use serde_json::Value;

use crate::evidence::ValidatedCall;

/// How long a tool may take to stop after it was told to.
const GRACE: Duration = Duration::from_secs(2);

/// How long a call that changes nothing may still take once the run is drained. It is
/// made again by the next attempt, so there is no need to wait for its own limit.
const LAST: Duration = Duration::from_secs(2);

/// How much later than the tool's own the driver's timer is: the tool's word on
/// what became of the call is the better one.
const SLACK: Duration = Duration::from_millis(250);

type Outcome = Result<Value, ToolError>;

/// Performs `call`. The tool is told of its time limit and of cancellation, and
/// then has [`GRACE`] to say what became of it. A drained run waits for what may have
/// changed something, and for [`LAST`] for what has not.
///
/// `trace` is the number under which the call may leave a trace.
pub(crate) async fn invoke(
    scope: &Scope,
    tool: &dyn Tool,
    call: &ValidatedCall,
    trace: u32,
) -> Outcome {
    let run = scope.run();
    let timeout = call.spec().timeout;
    let cancel = run.cancel.child_token();
    let context = ToolContext {
        trace: Trace::new(
            scope.facts(),
            call.id().clone(),
            trace,
            call.spec().effect,
            call.arguments().digest(),
        ),
        ..context(scope, call, cancel.clone())
    };
    let guarded = AssertUnwindSafe(tool.call(call.arguments().clone(), context)).catch_unwind();
    let mut outcome = guarded
        .map(|ended| ended.unwrap_or_else(|_| panicked()))
        .fuse();
    // Most tools that do not wait are done at once: no timer is made for them.
    if let Some(ended) = poll_immediate(&mut outcome).await {
        return ended;
    }
    select_biased! {
        ended = outcome => return ended,
        () = run.cancel.cancelled().fuse() => {}
        () = run.clock.sleep(timeout + SLACK).fuse() => {}
        () = drained(scope, call).fuse() => {
            cancel.cancel();
            return stopping(scope, outcome, ToolErrorKind::Cancelled).await;
        }
    }
    cancel.cancel();
    let kind = if run.cancel.is_cancelled() {
        ToolErrorKind::Cancelled
    } else {
        ToolErrorKind::Timeout
    };
    stopping(scope, outcome, kind).await
}

/// Completes when the run has been drained for so long that `call` is not waited for
/// any more; never for a call that may have changed something.
async fn drained(scope: &Scope, call: &ValidatedCall) {
    if !is_let_go(call) {
        return pending().await;
    }
    scope.run().drain.cancelled().await;
    scope.run().clock.sleep(LAST).await;
}

/// Lets the tool find out what became of a call that left `trace` behind. A tool
/// that does not know it in time, or panics, does not know it.
pub(crate) async fn reconcile(
    scope: &Scope,
    tool: &dyn Tool,
    call: &ValidatedCall,
    trace: Value,
) -> Result<Reconciled, Halt> {
    let run = scope.run();
    let cancel = run.cancel.child_token();
    let context = context(scope, call, cancel.clone());
    let found = AssertUnwindSafe(tool.reconcile(trace, context)).catch_unwind();
    let mut found = found.map(|found| found.unwrap_or(Reconciled::Lost)).fuse();
    let seen = select_biased! {
        found = found => Some(found),
        () = run.cancel.cancelled().fuse() => None,
        () = run.clock.sleep(call.spec().timeout + GRACE).fuse() => None,
        () = drained(scope, call).fuse() => None,
    };
    let seen = if let Some(seen) = seen {
        seen
    } else {
        cancel.cancel();
        select_biased! {
            found = found => found,
            () = run.clock.sleep(GRACE).fuse() => Reconciled::Lost,
        }
    };
    // A tool that was stopped while it looked may not have seen the end.
    match seen {
        Reconciled::Lost if run.cancel.is_cancelled() => Err(Halt::Cancelled),
        Reconciled::Lost if is_let_go(call) && run.drain.is_cancelled() => Err(Halt::Drained),
        seen => Ok(seen),
    }
}

/// Whether nothing is lost where `call` is stopped, since it changes nothing.
fn is_let_go(call: &ValidatedCall) -> bool {
    call.spec().effect == EffectClass::Repeatable
}

fn context(scope: &Scope, call: &ValidatedCall, cancel: CancellationToken) -> ToolContext {
    ToolContext {
        call: call.id().clone(),
        idempotency_key: idempotency_key(scope, call),
        timeout: call.spec().timeout,
        cancel,
        trace: Trace::default(),
        given_store: scope.run().store.clone(),
    }
}

async fn stopping(
    scope: &Scope,
    mut outcome: impl FusedFuture<Output = Outcome> + Unpin,
    kind: ToolErrorKind,
) -> Outcome {
    select_biased! {
        ended = outcome => ended.map_err(|error| match error.kind {
            // The tool saw a cancelled token; why it was, only the driver knows.
            ToolErrorKind::Cancelled => ToolError { kind, ..error },
            _ => error,
        }),
        () = scope.run().clock.sleep(GRACE).fuse() => {
            Err(ToolError::unknown(kind, "the tool did not stop in time"))
        }
    }
}

fn panicked() -> Outcome {
    Err(ToolError::unknown(
        ToolErrorKind::Panicked,
        "the tool panicked",
    ))
}

fn idempotency_key(scope: &Scope, call: &ValidatedCall) -> IdempotencyKey {
    let run = scope.run();
    IdempotencyKey::of(run.thread.clone(), run.branch.clone(), call.id().clone())
}

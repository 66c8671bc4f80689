//! `rag events`: prints the events that were kept of a thread.

use std::{process::ExitCode, sync::Arc, time::Duration};

use rustagents_core::{
    Code,
    event_journal::{EventJournal, EventQuery, PlacedEvent},
    ids::{Namespace, RunId, ThreadId},
    journal::Journal,
};
use rustagents_runtime::{
    ThreadView, public_event,
    replay::{Replay, Replayed},
    status::ThreadStatus,
    threads::find,
    view::Phase,
};

use crate::{
    arguments::Events, beside::has_event, failure::Failure, output::Output, signals::Signals,
    store::Address,
};

/// How many events are printed where nobody says it.
const USUAL: u64 = 1_000;

/// Behind all offsets; a database has no larger numbers.
const FURTHEST: u64 = i64::MAX.unsigned_abs() - 1;

/// How many events are read together.
const PAGE: usize = 500;

/// How often a thread is looked at that tells of nothing.
const LOOK: Duration = Duration::from_millis(500);

pub(crate) async fn events(arguments: &Events, output: &Output) -> Result<ExitCode, Failure> {
    let address = Address::parse(arguments.common.store.as_deref())?;
    let thread = ThreadId::new(&arguments.thread).map_err(|error| Failure::of(&error))?;
    let wanted = Wanted::of(arguments)?;
    if arguments.follow && arguments.common.json {
        let message = "what goes on for ever is not one JSON object";
        return Err(Failure::new(Code::Usage, message).hint("use `--events` instead of `--json`"));
    }
    let source = Source::open(&address, thread).await?;
    if arguments.status {
        let mut status = ThreadStatus::new();
        status.catch_up(&*source.events, &source.thread).await?;
        output.thread_status(source.thread.as_str(), &status)?;
        return Ok(ExitCode::SUCCESS);
    }
    let query = EventQuery::from(arguments.after.min(FURTHEST) + 1);
    let query = query.of_thread(source.thread.clone()).limit(PAGE);
    let query = match &arguments.run {
        Some(run) => query.of_run(RunId::from(run.as_str())),
        None => query,
    };
    let replay = Replay::of(Arc::clone(&source.events), query);
    let printer = Printer {
        output,
        wanted,
        replay,
        left: arguments
            .limit
            .unwrap_or(if arguments.follow { u64::MAX } else { USUAL }),
        is_over: false,
    };
    if arguments.follow {
        source.follow(printer).await?;
    } else if output.is_object() {
        printer.object(source.thread.as_str()).await?;
    } else {
        printer.list().await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A thread, and the journal that keeps its events.
struct Source {
    thread: ThreadId,
    journal: Option<Arc<dyn Journal>>,
    events: Arc<dyn EventJournal>,
}

impl Source {
    async fn open(address: &Address, thread: ThreadId) -> Result<Self, Failure> {
        let journal = address.exists()?.then(|| address.open()).transpose()?;
        let view = match &journal {
            Some(journal) => ThreadView::load(&**journal, &thread).await?,
            None => None,
        };
        let unknown = match (&view, &journal) {
            (None, Some(journal)) => find(&**journal, &thread).await?.is_none(),
            (view, _) => view.is_none(),
        };
        let Some(events) = address.kept_events() else {
            if unknown {
                return Err(Failure::unknown_thread(&thread));
            }
            let message = format!("no events are kept beside `{}`", address.shown());
            return Err(Failure::new(Code::NoEvents, message).hint(
                "keep them with `--keep-events`, or `keep = true` under `[events]` in \
                 rustagents.toml",
            ));
        };
        // The events of a thread may outlive it.
        let of_thread = EventQuery::from(1).of_thread(thread.clone());
        let mut replay = Replay::of(Arc::clone(&events), of_thread.limit(1));
        if unknown && !has_event(&mut replay).await? {
            return Err(Failure::unknown_thread(&thread));
        }
        Ok(Self {
            thread,
            journal,
            events,
        })
    }

    /// Prints what there is and what comes, until the run is over or somebody says stop.
    async fn follow(&self, mut printer: Printer<'_>) -> Result<(), Failure> {
        let signals = Signals::listen()?;
        let told = async {
            tokio::select! {
                () = signals.cancel.cancelled() => {}
                () = signals.drain.cancelled() => {}
            }
        };
        tokio::select! {
            () = told => Ok(()),
            followed = self.print_on(&mut printer) => followed,
        }
    }

    async fn print_on(&self, printer: &mut Printer<'_>) -> Result<(), Failure> {
        loop {
            // Whoever drives a thread keeps its events before it lets go of it.
            let is_closed = self.is_closed().await?;
            printer.print_all().await?;
            if is_closed || printer.is_over || printer.left == 0 {
                return Ok(());
            }
            let after = printer.replay.offset() - 1;
            if let Ok(changed) = tokio::time::timeout(LOOK, self.events.changed(after)).await {
                changed?;
            }
        }
    }

    /// Whether nobody drives the thread, and its last run is over.
    async fn is_closed(&self) -> Result<bool, Failure> {
        let Some(journal) = &self.journal else {
            return Ok(true);
        };
        if journal.owner(&self.thread).await?.is_some() {
            return Ok(false);
        }
        let view = ThreadView::load(&**journal, &self.thread).await?;
        Ok(view.is_none_or(|view| matches!(view.phase, Phase::Closed(_))))
    }
}

/// What is printed of the events that are read.
struct Wanted {
    kinds: Vec<String>,
    namespace: Option<Namespace>,
}

impl Wanted {
    fn of(arguments: &Events) -> Result<Self, Failure> {
        let mut kinds = arguments.kinds.iter();
        if let Some(unknown) = kinds.find(|kind| !public_event::KINDS.contains(&kind.as_str())) {
            let message = format!("`--kind {unknown}`: no event has that name");
            let hint = format!("it may be {}", public_event::KINDS.join(", "));
            return Err(Failure::new(Code::Usage, message).hint(hint));
        }
        let namespace = arguments.namespace.as_deref();
        Ok(Self {
            kinds: arguments.kinds.clone(),
            namespace: namespace.map(Namespace::from),
        })
    }

    fn is(&self, placed: &PlacedEvent) -> bool {
        let event = &placed.event;
        let is_kind = self.kinds.is_empty() || self.kinds.contains(&event.kind);
        is_kind && (self.namespace.as_ref()).is_none_or(|it| *it == event.namespace)
    }
}

struct Printer<'a> {
    output: &'a Output,
    wanted: Wanted,
    replay: Replay,
    /// How many more are printed.
    left: u64,
    /// The run has come to its end, and nothing follows yet.
    is_over: bool,
}

impl Printer<'_> {
    /// The next event that is wanted; `None` if there is none now.
    async fn next(&mut self) -> Result<Option<PlacedEvent>, Failure> {
        while self.left > 0 {
            match self.replay.next().await? {
                None => return Ok(None),
                Some(Replayed::Event(placed)) => {
                    self.is_over = is_end(&placed);
                    if self.wanted.is(&placed) {
                        self.left -= 1;
                        return Ok(Some(placed));
                    }
                }
                Some(Replayed::Dropped { from, to }) if from > 1 => {
                    let text = format!("the events from {from} to {} were dropped", to - 1);
                    self.output.note(&text);
                }
                Some(_) => {}
            }
        }
        Ok(None)
    }

    async fn print_all(&mut self) -> Result<(), Failure> {
        while let Some(placed) = self.next().await? {
            self.output.kept_event(&placed)?;
        }
        Ok(())
    }

    async fn list(mut self) -> Result<(), Failure> {
        self.print_all().await?;
        let offset = self.replay.offset();
        if self.left == 0 && self.has_more().await? {
            let text = format!("more follow: `--after {}`", offset - 1);
            self.output.note(&text);
        }
        Ok(())
    }

    async fn object(mut self, thread: &str) -> Result<(), Failure> {
        let mut events = Vec::new();
        while let Some(placed) = self.next().await? {
            events.push(placed);
        }
        let after = self.replay.offset() - 1;
        let more = self.left == 0 && self.has_more().await?;
        Output::kept_events(thread, &events, after, more)
    }

    async fn has_more(&mut self) -> Result<bool, Failure> {
        self.left = 1;
        Ok(self.next().await?.is_some())
    }
}

/// Whether a run is over with this event, and not only an attempt at it.
fn is_end(placed: &PlacedEvent) -> bool {
    let how = placed.event.payload.get("how");
    let goes_on = how.is_some_and(|how| how == "suspended" || how == "stopped");
    placed.event.kind == "run.ended" && !goes_on
}

//! Every thread: can it be read, and how does it stand.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use rustagents_core::{
    ids::ThreadId,
    journal::{Journal, JournalError, ThreadQuery},
};
use rustagents_runtime::{
    ThreadView, inspect,
    threads::check::{self, Problem},
};

use super::Check;
use crate::{failure::Failure, output::plural};

const NAME: &str = "threads";

/// How many names are asked for at once.
const PAGE: usize = 500;

/// What is looked at before it is enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// How many threads are read.
    threads: usize,
    /// How many that cannot be read are named.
    named: usize,
    /// How long it may take; a thread that was begun is read to its end.
    patience: Duration,
    /// Whether each thread is read whole, and not only what going on needs.
    whole: bool,
}

impl Bounds {
    /// Everything, however long it takes.
    pub(super) fn full() -> Self {
        Self {
            threads: usize::MAX,
            named: usize::MAX,
            patience: Duration::MAX,
            whole: true,
        }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            threads: 10_000,
            named: 100,
            patience: Duration::from_mins(1),
            whole: false,
        }
    }
}

/// Why not every thread was read.
enum Cut {
    Enough,
    Late,
    Unlisted(JournalError),
}

/// What was found so far.
#[derive(Default)]
struct Tally {
    read: usize,
    /// How many stand in which way.
    standing: BTreeMap<&'static str, usize>,
    unreadable: usize,
    broken: usize,
    named: Vec<Check>,
}

/// Reads every thread, as far as the bounds allow.
pub(super) async fn examine(journal: &dyn Journal, bounds: Bounds) -> Vec<Check> {
    let mut tally = Tally::default();
    let cut = read_all(journal, bounds, &mut tally).await.err();
    let mut checks = vec![tally.told(cut.as_ref(), bounds)];
    checks.extend(tally.named);
    checks
}

async fn read_all(journal: &dyn Journal, bounds: Bounds, tally: &mut Tally) -> Result<(), Cut> {
    let begun = Instant::now();
    let mut after: Option<ThreadId> = None;
    loop {
        let page = journal
            .threads(ThreadQuery::all().after(after.clone()).limit(PAGE))
            .await;
        let page = page.map_err(Cut::Unlisted)?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = Some(last.thread.clone());
        for row in &page {
            if tally.read >= bounds.threads {
                return Err(Cut::Enough);
            }
            if begun.elapsed() >= bounds.patience {
                return Err(Cut::Late);
            }
            let found = match problems(journal, &row.thread, bounds).await {
                Ok(problems) if problems.is_empty() => look(journal, &row.thread).await,
                Ok(problems) => {
                    tally.broken(&row.thread, &problems, bounds);
                    continue;
                }
                Err(error) => Err(error),
            };
            if let Err(JournalError::UnknownThread { .. }) = found {
                // It was deleted since it was listed.
                continue;
            }
            tally.add(&row.thread, found, bounds);
        }
    }
}

/// What is wrong inside a thread, where that is asked for.
async fn problems(
    journal: &dyn Journal,
    thread: &ThreadId,
    bounds: Bounds,
) -> Result<Vec<Problem>, JournalError> {
    if !bounds.whole {
        return Ok(Vec::new());
    }
    check::check(journal, thread).await
}

/// How a thread stands, once all of it was read.
async fn look(journal: &dyn Journal, thread: &ThreadId) -> Result<&'static str, JournalError> {
    let view = ThreadView::load(journal, thread).await?;
    inspect::skim(journal, thread).await?;
    let standing = inspect::standing(journal, thread, view.as_ref()).await?;
    Ok(standing.as_str())
}

impl Tally {
    fn add(
        &mut self,
        thread: &ThreadId,
        found: Result<&'static str, JournalError>,
        bounds: Bounds,
    ) {
        self.read += 1;
        match found {
            Ok(standing) => *self.standing.entry(standing).or_default() += 1,
            Err(error) => {
                self.unreadable += 1;
                if self.named.len() < bounds.named {
                    let check = Check::failed(format!("thread {thread}"), &Failure::from(error));
                    self.named.push(check);
                }
            }
        }
    }

    fn broken(&mut self, thread: &ThreadId, problems: &[Problem], bounds: Bounds) {
        self.read += 1;
        self.broken += 1;
        for problem in problems {
            if self.named.len() < bounds.named {
                let check = Check::error(format!("thread {thread}"), problem.to_string());
                self.named.push(
                    check.hint(
                        "restore a backup, or remove it with `rag threads delete THREAD --yes`",
                    ),
                );
            }
        }
    }

    fn told(&self, cut: Option<&Cut>, bounds: Bounds) -> Check {
        let read = plural(self.read, "thread");
        let limit = match cut {
            None if self.read == 0 => return Check::ok(NAME, "none yet"),
            None => String::new(),
            Some(Cut::Enough) => ", and no more, were read".to_owned(),
            Some(Cut::Late) => format!(", and no more in {:?}, were read", bounds.patience),
            Some(Cut::Unlisted(error)) => {
                let mut check = Check::failed(NAME, &Failure::from(error.clone()));
                check.message = format!("after {read}: {}", check.message);
                return check;
            }
        };
        let message = format!("{read}{limit}: {}", self.found());
        match (self.unreadable + self.broken, cut) {
            (0, None) => Check::ok(NAME, message),
            (0, Some(_)) => Check::warning(NAME, message)
                .hint("`rag threads list --after THREAD` goes on with the others"),
            _ => Check::error(NAME, message)
                .hint("below is said what is wrong with each; all others can be used"),
        }
    }

    fn found(&self) -> String {
        let mut parts: Vec<_> = self
            .standing
            .iter()
            .map(|(standing, count)| format!("{count} {standing}"))
            .collect();
        if self.unreadable > 0 {
            parts.push(format!("{} cannot be read", self.unreadable));
        }
        if self.broken > 0 {
            parts.push(format!("{} not whole", self.broken));
        }
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustagents_core::journal::Owner;
    use rustagents_runtime::threads::find;
    use rustagents_store::MemoryJournal;
    use rustagents_testkit::hooked::HookedJournal;

    use super::*;
    use crate::doctor::Status;

    const NO_LIMIT: Bounds = Bounds {
        threads: 10_000,
        named: 100,
        patience: Duration::from_mins(1),
        whole: false,
    };

    /// A journal of threads that were claimed, and no more.
    async fn journal(threads: usize) -> MemoryJournal {
        let journal = MemoryJournal::new();
        for number in 0..threads {
            let thread = ThreadId::new(&format!("t-{number:04}")).unwrap();
            journal.claim(&thread, Owner::default()).await.unwrap();
        }
        journal
    }

    async fn told(threads: usize, bounds: Bounds) -> (Status, String) {
        let checks = examine(&journal(threads).await, bounds).await;
        assert_eq!(checks.len(), 1);
        (checks[0].status, checks[0].message.clone())
    }

    #[tokio::test]
    async fn all_threads_are_read_page_by_page() {
        let told = told(PAGE * 2 + 1, NO_LIMIT).await;
        assert_eq!(told, (Status::Ok, "1001 threads: 1001 empty".into()));
    }

    #[tokio::test]
    async fn as_many_threads_as_allowed_are_all_when_there_are_no_more() {
        let bounds = Bounds {
            threads: 3,
            ..NO_LIMIT
        };
        assert_eq!(told(0, bounds).await, (Status::Ok, "none yet".into()));
        assert_eq!(
            told(3, bounds).await,
            (Status::Ok, "3 threads: 3 empty".into())
        );
        let cut = "3 threads, and no more, were read: 3 empty".into();
        assert_eq!(told(4, bounds).await, (Status::Warning, cut));
    }

    #[tokio::test]
    async fn a_thread_that_is_deleted_meanwhile_is_passed_over() {
        let inner = Arc::new(journal(3).await);
        let deleting = Arc::clone(&inner);
        let beside = HookedJournal::new(inner).before_read(move |_| {
            let journal = Arc::clone(&deleting);
            Box::pin(async move {
                let last = ThreadId::new("t-0002").unwrap();
                if find(&*journal, &last).await?.is_some() {
                    let claim = journal.claim(&last, Owner::default()).await?;
                    journal.remove(&last, claim.epoch).await?;
                }
                Ok(())
            })
        });
        let checks = examine(&beside, Bounds::full()).await;
        assert_eq!(checks.len(), 1);
        assert_eq!(
            (checks[0].status, &*checks[0].message),
            (Status::Ok, "2 threads: 2 empty")
        );
    }

    #[tokio::test]
    async fn no_thread_is_begun_when_the_time_is_up() {
        let bounds = Bounds {
            patience: Duration::ZERO,
            ..NO_LIMIT
        };
        let cut = "0 threads, and no more in 0ns, were read: ".into();
        assert_eq!(told(2, bounds).await, (Status::Warning, cut));
    }

    #[test]
    fn only_so_many_unreadable_threads_are_named() {
        let mut tally = Tally::default();
        for number in 0..5 {
            let thread = ThreadId::new(&format!("t-{number}")).unwrap();
            let error = JournalError::Corrupt {
                place: "record 1".into(),
                reason: "it is gone".into(),
            };
            let bounds = Bounds {
                named: 2,
                ..NO_LIMIT
            };
            tally.add(&thread, Err(error), bounds);
        }
        let names: Vec<_> = tally
            .named
            .iter()
            .map(|check| check.name.as_str())
            .collect();
        assert_eq!(names, ["thread t-0", "thread t-1"]);
        let told = tally.told(None, NO_LIMIT);
        assert_eq!(told.status, Status::Error);
        assert_eq!(told.message, "5 threads: 5 cannot be read");
    }
}

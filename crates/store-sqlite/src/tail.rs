//! Watching a store: own commits ring at once, those of other processes are found
//! by asking SQLite whether the file changed.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

use crate::{
    file::StoreFile,
    opened::Opened,
    schema::{self, Header},
};

/// How often the store is asked whether another process wrote.
const PAUSE: Duration = Duration::from_millis(50);

/// Rings whenever somebody wrote to the store.
#[derive(Debug)]
pub(crate) struct Tail {
    file: Arc<StoreFile>,
    written: Arc<Notify>,
    watchers: Arc<AtomicUsize>,
    /// Whether a thread asks. It ends when nobody watches.
    asks: Arc<Mutex<bool>>,
}

/// Somebody who watches; asking goes on as long as there is one.
pub(crate) struct Watcher(Arc<AtomicUsize>);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Tail {
    pub(crate) fn new(file: Arc<StoreFile>, written: Arc<Notify>) -> Self {
        Self {
            file,
            written,
            watchers: Arc::default(),
            asks: Arc::default(),
        }
    }

    /// What rings after each write.
    pub(crate) fn written(&self) -> &Notify {
        &self.written
    }

    /// Begins to watch.
    pub(crate) fn watch(&self) -> Watcher {
        self.watchers.fetch_add(1, Ordering::SeqCst);
        let watcher = Watcher(Arc::clone(&self.watchers));
        let mut asks = self.asks.lock().unwrap_or_else(PoisonError::into_inner);
        if !*asks {
            let file = Arc::clone(&self.file);
            let written = Arc::clone(&self.written);
            let watchers = Arc::clone(&self.watchers);
            let asked = Arc::clone(&self.asks);
            let thread = std::thread::Builder::new()
                .name("rag-journal-tail".into())
                .spawn(move || ask(&file, &written, &watchers, &asked));
            *asks = thread.is_ok();
        }
        watcher
    }
}

fn ask(file: &StoreFile, written: &Notify, watchers: &AtomicUsize, asks: &Mutex<bool>) {
    let mut connection = None;
    let mut last = None;
    loop {
        std::thread::sleep(PAUSE);
        let mut asks = asks.lock().unwrap_or_else(PoisonError::into_inner);
        if watchers.load(Ordering::SeqCst) == 0 {
            *asks = false;
            return;
        }
        drop(asks);
        let version = version(file, &mut connection);
        // Where it cannot be told, the watchers look for themselves.
        if version.is_none() || version != last {
            written.notify_waiters();
        }
        last = version;
    }
}

/// A number that changes with each commit of another connection.
fn version(file: &StoreFile, connection: &mut Option<Opened>) -> Option<i64> {
    if file.check().is_err() {
        if let Some(gone) = connection.take() {
            file.close(gone);
        }
        return None;
    }
    if connection.is_none() && matches!(schema::inspect(file.path()), Ok(Header::Ours)) {
        *connection = file.open(schema::open_reader).ok();
    }
    let open = connection.as_ref()?;
    let version = open.query_row("PRAGMA data_version", [], |row| row.get(0));
    version.ok()
}

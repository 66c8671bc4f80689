//! Operating-system locks on files: who drives a thread, and who is just writing.
//!
//! The kernel frees a lock when its process ends, however it ends. The files
//! are never removed: a new file under the same name would be another lock.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Read, Seek, Write},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustagents_core::journal::Owner;

/// The most bytes that say who an owner is.
const MAX_OWNER_BYTES: u64 = 4_096;

/// How long the first and the longest pause are between two tries.
const PAUSES: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(5));

/// A wait for locks that others hold for a moment only, and that ends all the same:
/// a process that is stopped holds its locks as long as it is.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    limit: Duration,
    began: Instant,
}

impl Patience {
    /// How long a lock is waited for, if nobody says otherwise.
    pub const USUAL: Duration = Duration::from_secs(30);

    /// Begins to wait, for as long as `limit`.
    pub fn new(limit: Duration) -> Self {
        Self {
            limit,
            began: Instant::now(),
        }
    }

    /// Takes the lock on the file at `path` alone.
    ///
    /// # Errors
    /// What the file system says; [`ErrorKind::TimedOut`] names who holds the lock.
    pub fn lock(self, path: &Path, file: &File) -> io::Result<()> {
        self.wait(path, file, || file.try_lock())
    }

    /// Takes the lock on the file at `path` together with others of this kind.
    ///
    /// # Errors
    /// As [`Patience::lock`].
    pub fn lock_shared(self, path: &Path, file: &File) -> io::Result<()> {
        self.wait(path, file, || file.try_lock_shared())
    }

    fn wait(
        self,
        path: &Path,
        file: &File,
        take: impl Fn() -> Result<(), TryLockError>,
    ) -> io::Result<()> {
        let (mut pause, longest) = PAUSES;
        loop {
            match take() {
                Ok(()) => return Ok(()),
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => {
                    continue;
                }
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => {}
            }
            let left = self.limit.saturating_sub(self.began.elapsed());
            if left.is_zero() {
                return Err(self.ended(path, file));
            }
            thread::sleep(pause.min(left));
            pause = (pause * 2).min(longest);
        }
    }

    fn ended(self, path: &Path, file: &File) -> io::Error {
        let who = match holders(file).as_slice() {
            [] => "another process".to_owned(),
            [process] => format!("process {process}"),
            [process, ..] => format!("process {process} and others"),
        };
        let text = format!(
            "{who} has held its lock `{}` for {:?}, which takes a moment otherwise: if it was \
             stopped, let it go on or end it",
            path.display(),
            self.limit
        );
        io::Error::new(ErrorKind::TimedOut, text)
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self::new(Self::USUAL)
    }
}

/// How often the system is asked who holds a lock that somebody does hold.
const LOOKS: u32 = 5;

/// The processes that hold a lock on this file, as far as the system tells. Its list is
/// read in pieces: where other locks come and go meanwhile, a line may be passed over
/// or met twice.
fn holders(file: &File) -> Vec<u32> {
    let mut holders = (0..LOOKS)
        .map(|_| listed(file))
        .find(|holders| !holders.is_empty())
        .unwrap_or_default();
    holders.sort_unstable();
    holders.dedup();
    holders
}

fn listed(file: &File) -> Vec<u32> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt as _;

        let inode = file.metadata().map(|metadata| metadata.ino());
        let locks = std::fs::read_to_string("/proc/locks");
        if let (Ok(inode), Ok(locks)) = (inode, locks) {
            return locks
                .lines()
                .filter_map(|line| holder_in(line, inode))
                .collect();
        }
    }
    let _ = file;
    Vec::new()
}

/// Who holds a lock, by a line such as
/// `1: FLOCK  ADVISORY  WRITE 4711 08:01:12345 0 EOF`. Who waits for one has `->` in
/// the second place. Devices are not compared: those of layered file systems have
/// another number here.
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "Linux alone tells")
)]
fn holder_in(line: &str, inode: u64) -> Option<u32> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (kind, process) = (words.next()?, words.nth(2)?.parse().ok()?);
    let (_, file) = words.next()?.rsplit_once(':')?;
    let is_it = kind == "FLOCK" && process > 0 && file.parse() == Ok(inode);
    is_it.then_some(process)
}

/// What came of trying to take a lock.
#[derive(Debug)]
pub enum Taken {
    /// It is held as long as this file is open.
    Held(File),
    /// Another holds it: this one, if the file says so.
    Busy(Option<Owner>),
}

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// It is free.
    Nobody,
    /// It is held: by this one, if the file says so.
    Somebody(Option<Owner>),
}

/// Takes the lock if it is free, and writes down whose it is.
///
/// # Errors
/// What the file system says.
pub fn try_take(path: &Path, owner: &Owner) -> io::Result<Taken> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(path)?;
    match file.try_lock() {
        Ok(()) => {
            let text = serde_json::to_string(owner)?;
            file.set_len(0)?;
            file.write_all(text.as_bytes())?;
            Ok(Taken::Held(file))
        }
        Err(TryLockError::WouldBlock) => Ok(Taken::Busy(read_owner(file))),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Who holds the lock now.
///
/// # Errors
/// What the file system says.
pub fn holder(path: &Path) -> io::Result<Holder> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Holder::Nobody),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Holder::Nobody),
        Err(TryLockError::WouldBlock) => Ok(Holder::Somebody(read_owner(file))),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// What the holder wrote; `None` if it is just writing.
fn read_owner(mut file: File) -> Option<Owner> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(MAX_OWNER_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_who_holds_a_lock() {
        let held = "1: FLOCK  ADVISORY  WRITE 4711 08:01:12345 0 EOF";
        assert_eq!(holder_in(held, 12345), Some(4711));
        for other in [
            "",
            "1: FLOCK",
            "1: -> FLOCK  ADVISORY  WRITE 4711 08:01:12345 0 EOF",
            "1: POSIX  ADVISORY  WRITE 4711 08:01:12345 0 EOF",
            "1: FLOCK  ADVISORY  WRITE 4711 08:01:12346 0 EOF",
            "1: FLOCK  ADVISORY  WRITE 0 08:01:12345 0 EOF",
        ] {
            assert_eq!(holder_in(other, 12345), None, "{other}");
        }
    }

    #[test]
    fn a_wait_ends_with_the_name_of_who_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let open = || {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            options.open(&path).unwrap()
        };
        let (held, other) = (open(), open());
        let wait = Patience::new(Duration::ZERO);
        wait.lock(&path, &held).unwrap();
        let error = wait.lock(&path, &other).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        if cfg!(target_os = "linux") {
            let own = format!("process {} has held", std::process::id());
            assert!(error.to_string().contains(&own), "{error}");
        }
        held.unlock().unwrap();
        wait.lock_shared(&path, &other).unwrap();
        wait.lock_shared(&path, &held).unwrap();
    }

    #[test]
    fn a_lock_that_is_let_go_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = File::create(&path).unwrap();
        held.lock().unwrap();
        let other = File::open(&path).unwrap();
        let (waits, hears) = std::sync::mpsc::channel();
        let waiting = thread::spawn(move || {
            waits.send(()).unwrap();
            Patience::default().lock_shared(&path, &other)
        });
        hears.recv().unwrap();
        held.unlock().unwrap();
        waiting.join().unwrap().unwrap();
    }
}

//! A program and everything that it starts: one process group.

use std::{io, process::ExitStatus, time::Duration};

use rustix::{
    io::Errno,
    process::{
        Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
    },
};
use tokio::{
    process::{Child, Command},
    signal::unix::{self, SignalKind},
    time,
};

use super::system;

/// How long is waited for killed processes to be gone, which takes the system a
/// moment.
const DYING: Duration = Duration::from_millis(500);

/// How often they are looked at meanwhile.
const PAUSE: Duration = Duration::from_millis(1);

/// The group of a program that was started. What is left of it is killed when
/// this is dropped.
///
/// The program is not reaped before the group was signalled for the last time:
/// until then the system gives its number to no other process, and so a signal
/// to the group cannot meet a stranger.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) child: Child,
    pid: Pid,
    /// Tells that some child of this process changed.
    changes: unix::Signal,
    reaped: bool,
}

impl Group {
    /// Starts `command` at the head of a group of its own.
    pub(super) fn spawn(command: &mut Command) -> io::Result<Self> {
        // Listening comes first, so that no change is missed.
        let changes = unix::signal(SignalKind::child())?;
        let child = command.process_group(0).spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        let pid = pid.and_then(Pid::from_raw);
        Ok(Self {
            pid: pid.ok_or_else(|| io::Error::other("the process has no number"))?,
            child,
            changes,
            reaped: false,
        })
    }

    /// The number of the program's process and of the group.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits for the program to end, and leaves it to be reaped.
    ///
    /// Cancellation: safe; nothing is lost.
    pub(super) async fn ended(&mut self) {
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            match waitid(WaitId::Pid(self.pid), peek) {
                Ok(Some(_)) => return,
                Ok(None) => {}
                Err(Errno::INTR) => continue,
                Err(_) => {
                    // Somebody else reaped it, so the number is free again.
                    self.reaped = true;
                    return;
                }
            }
            if self.changes.recv().await.is_none() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Sends `signal` to each process of the group.
    pub(super) fn signal(&self, signal: Signal) {
        if !self.reaped {
            // Those that are there get it; that none is, is what is wanted.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Kills what is left of the group, waits until it is gone, and says how the
    /// program ended, which it must have done.
    pub(super) async fn reap(&mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::KILL);
        self.reaped = true;
        let status = self.child.wait().await;
        let gone = async {
            while self.is_listed() {
                time::sleep(PAUSE).await;
            }
        };
        let _ = time::timeout(DYING, gone).await;
        status
    }

    /// Whether a process has the group's number that has not ended. To look is
    /// safe: it signals nobody, whoever has the number by now.
    fn is_listed(&self) -> bool {
        test_kill_process_group(self.pid).is_ok()
            && !system::is_over(self.pid.as_raw_nonzero().get())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

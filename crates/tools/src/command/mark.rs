//! How a later process finds the processes of a call again.

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use super::{
    environment::IDEMPOTENCY_KEY,
    system::{self, Process},
};

/// What is known of a program that a call started and whose end nothing records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remains {
    /// Neither it nor what it left in its group runs any more.
    Gone,
    /// Something of its group is at work.
    AtWork {
        /// The number of the program's process and of its group.
        process: i32,
    },
    /// The number counts elsewhere, such as on another machine, or before this one was
    /// started anew; or the system does not tell.
    Unknown {
        /// The number that it had there.
        process: i32,
    },
}

impl Remains {
    /// Looks for the program of `started`, which is in the words of a command's call;
    /// `None` if it is not. Nothing is ended or changed.
    ///
    /// ```
    /// use rustagents_tools::command::Remains;
    /// use serde_json::json;
    ///
    /// let elsewhere = json!({ "pid": 42, "start": 7, "boot": "b", "namespace": "n" });
    /// assert_eq!(Remains::of(&elsewhere), Some(Remains::Unknown { process: 42 }));
    /// assert_eq!(Remains::of(&json!("another tool's own words")), None);
    /// ```
    pub fn of(started: &Value) -> Option<Self> {
        let mark = Mark::read(started)?;
        let process = mark.pid;
        Some(if !mark.is_here() {
            Self::Unknown { process }
        } else if mark.may_have_running() {
            Self::AtWork { process }
        } else {
            Self::Gone
        })
    }
}

/// A program that was started, as it is recorded in the trace of its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// The number of the program's process and of its group.
    pid: i32,
    /// When it was started. Unknown where the system does not tell.
    start: Option<u64>,
    /// Which start of which machine it was.
    boot: Option<String>,
    /// In which space the number counts.
    namespace: Option<String>,
}

impl Mark {
    /// The mark of a program that this process started, and has not reaped.
    pub(super) fn of(pid: Pid) -> Self {
        let pid = pid.as_raw_nonzero().get();
        // A `/proc` of another space may list a stranger under that number.
        let own = |process: &Process| {
            process.group == pid && u32::try_from(process.parent) == Ok(std::process::id())
        };
        Self {
            pid,
            start: Process::with(pid).filter(own).map(|process| process.start),
            boot: system::boot(),
            namespace: system::namespace(),
        }
    }

    /// As it is recorded.
    pub(super) fn to_value(&self) -> Value {
        json!({
            "pid": self.pid,
            "start": self.start,
            "boot": self.boot,
            "namespace": self.namespace,
        })
    }

    /// As it was recorded.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name)?.as_str().map(str::to_owned);
        let pid = value.get("pid")?.as_i64()?;
        Some(Self {
            // 0 and 1 have a meaning of their own where groups are signalled.
            pid: i32::try_from(pid).ok().filter(|pid| *pid > 1)?,
            start: value.get("start").and_then(Value::as_u64),
            boot: text("boot"),
            namespace: text("namespace"),
        })
    }

    /// Whether the number means the same here and now as it did then.
    pub(super) fn is_here(&self) -> bool {
        self.start.is_some()
            && self.boot.is_some()
            && self.namespace.is_some()
            && self.boot == system::boot()
            && self.namespace == system::namespace()
    }

    /// Whether the program itself still runs.
    pub(super) fn is_running(&self) -> bool {
        self.leader().is_some_and(Process::is_running)
    }

    /// Whether anything of the program's group still runs.
    pub(super) fn has_running(&self, key: &str) -> bool {
        self.is_running() || self.leftovers(key).next().is_some()
    }

    /// Whether anything runs in a group of that number that is not older than the
    /// program. It may be another group, where the number was given out anew.
    fn may_have_running(&self) -> bool {
        system::all().filter_map(Process::with).any(|process| {
            process.group == self.pid
                && process.is_running()
                && self.start.is_some_and(|start| process.start >= start)
        })
    }

    /// Sends `signal` to the group, if it is proven to be the call's.
    ///
    /// The system gives a number to no new process as long as a group has it.
    /// So the group is the call's while its first process is listed, and while
    /// there is a member that the call started. Numbers are given out in turn,
    /// so that one is not used again between this look and the signal.
    pub(super) fn signal(&self, key: &str, signal: Signal) {
        if self.leader().is_none() && self.leftovers(key).next().is_none() {
            return;
        }
        if let Some(group) = Pid::from_raw(self.pid) {
            let _ = kill_process_group(group, signal);
        }
    }

    /// The program's process, also one that ended and is still listed.
    fn leader(&self) -> Option<Process> {
        let process = Process::with(self.pid)?;
        let same = process.group == self.pid && Some(process.start) == self.start;
        same.then_some(process)
    }

    /// What the program left running in its group. A group that came later may
    /// have the same number, so each must carry the call's own key.
    fn leftovers(&self, key: &str) -> impl Iterator<Item = i32> {
        system::all().filter(move |number| {
            let member = Process::with(*number).filter(|process| {
                process.group == self.pid
                    && process.is_running()
                    && self.start.is_some_and(|start| process.start >= start)
            });
            member.is_some() && system::has_variable(*number, IDEMPOTENCY_KEY, key)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_is_read_back() {
        let mark = Mark {
            pid: 42,
            start: Some(7),
            boot: Some("b".into()),
            namespace: None,
        };
        assert_eq!(Mark::read(&mark.to_value()), Some(mark));
        for broken in [json!({}), json!(1), json!({"pid": 1}), json!({"pid": -5})] {
            assert_eq!(Mark::read(&broken), None);
        }
    }

    #[test]
    fn what_remains_is_looked_for_by_its_number_and_its_start() {
        let own = i32::try_from(std::process::id()).unwrap();
        let process = Process::with(own).unwrap();
        let here = Mark {
            pid: process.group,
            start: Some(0),
            boot: system::boot(),
            namespace: system::namespace(),
        };
        let remains = |mark: &Mark| Remains::of(&mark.to_value());
        let at_work = Remains::AtWork { process: here.pid };
        assert_eq!(remains(&here), Some(at_work));
        let later = Mark {
            start: Some(u64::MAX),
            ..here.clone()
        };
        assert_eq!(remains(&later), Some(Remains::Gone));
        let elsewhere = Mark {
            boot: Some("b".into()),
            ..here
        };
        let process = elsewhere.pid;
        assert_eq!(remains(&elsewhere), Some(Remains::Unknown { process }));
    }

    #[test]
    fn a_number_of_another_place_or_time_means_nothing() {
        let here = Mark {
            pid: 42,
            start: Some(7),
            boot: system::boot(),
            namespace: system::namespace(),
        };
        assert!(here.is_here());
        for elsewhere in [
            Mark {
                start: None,
                ..here.clone()
            },
            Mark {
                boot: Some("b".into()),
                ..here.clone()
            },
            Mark {
                boot: None,
                ..here.clone()
            },
            Mark {
                namespace: Some("n".into()),
                ..here.clone()
            },
            Mark {
                namespace: None,
                ..here
            },
        ] {
            assert!(!elsewhere.is_here(), "{elsewhere:?}");
        }
    }
}

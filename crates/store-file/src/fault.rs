//! A disk that fails at a chosen step: for tests by enumeration.
//!
//! Compiled only with debug assertions.

mod ledger;

use std::{
    io,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use self::ledger::Ledger;
use crate::disk::Step;

/// What a failing step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It does nothing, and neither does any later one: the process is gone.
    Stop,
    /// As [`Failure::Stop`], but a write puts the first half of its bytes there.
    Torn,
    /// It does nothing and fails; later ones work: the disk was full.
    Once,
    /// As [`Failure::Once`], but a write puts the first half of its bytes there.
    OnceTorn,
}

/// A disk that fails at one step.
#[derive(Debug)]
pub struct DiskFault {
    step: u64,
    failure: Failure,
    steps: AtomicU64,
    dead: AtomicBool,
    ledger: Mutex<Ledger>,
}

/// How much of a step is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    Half,
}

impl DiskFault {
    /// Fails at step `step`, counted from 1: each write, each wait for the disk,
    /// and whatever is made, renamed, cut or removed.
    pub fn new(step: u64, failure: Failure) -> Self {
        Self {
            step,
            failure,
            steps: AtomicU64::new(0),
            dead: AtomicBool::new(false),
            ledger: Mutex::default(),
        }
    }

    /// Makes the folder `root` what it is if the power fails now, and everything
    /// that was not waited for is lost.
    ///
    /// # Errors
    /// What the file system says.
    pub fn lose_power(&self, root: &Path) -> io::Result<()> {
        let ledger = self.ledger.lock();
        ledger.unwrap_or_else(PoisonError::into_inner).restore(root)
    }

    pub(crate) fn note(&self, step: Step<'_>) {
        let ledger = self.ledger.lock();
        ledger.unwrap_or_else(PoisonError::into_inner).note(step);
    }

    /// How many steps were begun.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::SeqCst)
    }

    pub(crate) fn next(&self) -> io::Result<Extent> {
        let number = self.steps.fetch_add(1, Ordering::SeqCst) + 1;
        let dies = matches!(self.failure, Failure::Stop | Failure::Torn);
        if self.dead.load(Ordering::SeqCst) {
            return Err(io::Error::other("the process is gone"));
        }
        if number != self.step {
            return Ok(Extent::Whole);
        }
        self.dead.store(dies, Ordering::SeqCst);
        match self.failure {
            Failure::Stop => Err(io::Error::other("the process is gone")),
            Failure::Once => Err(io::ErrorKind::StorageFull.into()),
            Failure::Torn | Failure::OnceTorn => Ok(Extent::Half),
        }
    }
}

//! What a backend promises about a name whose thread was removed: nothing that was meant
//! for the old thread reaches the one that is made under its name.

use std::future::Future;

use rustagents_core::{
    ids::FactKey,
    journal::{Author, Batch, Claim, Compaction, Journal, JournalError, Owner, ThreadImage, kind},
};

use super::{batch, chain, claim, commit, count, fact, thread, threads::image};

/// How the thread is made anew.
#[derive(Clone, Copy, Debug)]
enum Made {
    Claimed,
    Copied,
    Installed,
}

pub(super) async fn suite<J: Journal + 'static, F: Future<Output = J>>(
    fresh: &mut impl FnMut() -> F,
) {
    for made in [Made::Claimed, Made::Copied, Made::Installed] {
        the_old_drivers_reach_nothing(fresh().await, made).await;
    }
}

async fn the_old_drivers_reach_nothing(journal: impl Journal, made: Made) {
    let (first, second, before) = removed(&journal).await;
    let made_anew = make(&journal, made, before).await;
    let records = count(&journal, "t").await;
    // At first nobody drives a thread that was copied or installed.
    for old in [&first, &second] {
        refuses(&journal, old, made).await;
    }
    let driver = match made_anew {
        Some(claim) => claim,
        None => claim(&journal, "t").await,
    };
    let highest = first.epoch.max(second.epoch);
    assert!(driver.epoch > highest, "{made:?}: an epoch is used twice");
    for old in [&first, &second] {
        refuses(&journal, old, made).await;
    }
    // Their claims count no more, whenever they end.
    drop((first, second));
    let write = batch("t", &driver, vec![], vec![fact("own", "1")]);
    journal.append(write).await.expect("its driver goes on");
    assert_eq!(count(&journal, "t").await, records + 1, "{made:?}");
}

/// A thread at epoch 3, with an intent of its driver; the driver that took it over, and
/// removed it; and the thread as it was before.
async fn removed(journal: &dyn Journal) -> (Claim, Claim, ThreadImage) {
    drop(claim(journal, "t").await);
    drop(claim(journal, "t").await);
    let first = claim(journal, "t").await;
    assert_eq!(first.epoch, 3);
    let mut intent = fact("call/c-1/intent/1", "1");
    intent.kind = kind::INTENT;
    let heads = vec![(chain(""), None)];
    let write = batch("t", &first, heads, vec![commit("", "1"), intent]);
    journal.append(write).await.expect("appended");
    let second = journal.take_over(&thread("t"), Owner::default()).await;
    let second = second.expect("taken over");
    let copied = journal.copy(&thread("t"), &thread("copy"), None).await;
    copied.expect("copied");
    let before = image(journal, "t").await;
    let removed = journal.remove(&thread("t"), second.epoch).await;
    removed.expect("removed");
    (first, second, before)
}

async fn make(journal: &dyn Journal, made: Made, before: ThreadImage) -> Option<Claim> {
    let name = thread("t");
    match made {
        Made::Claimed => return Some(claim(journal, "t").await),
        Made::Copied => journal.copy(&thread("copy"), &name, None).await,
        Made::Installed => journal.install(before).await,
    }
    .expect("the name is free");
    assert_eq!(journal.owner(&name).await.expect("readable"), None);
    None
}

/// Whatever a driver of the removed thread still has under way is refused.
async fn refuses(journal: &dyn Journal, old: &Claim, made: Made) {
    let records = count(journal, "t").await;
    let fenced = |error: JournalError, what: &str| {
        let is_fenced = matches!(error, JournalError::Fenced { .. });
        assert!(is_fenced, "{made:?}: {what}: {error:?}");
    };
    let seen = records as u64;
    for head in [None, Some(1), Some(seen)] {
        let write = batch("t", old, vec![(chain(""), head)], vec![commit("", "2")]);
        let error = journal.append(write).await;
        fenced(error.expect_err("it is another's thread"), "a commit");
    }
    let write = batch("t", old, vec![], vec![fact("late", "1")]);
    let error = journal.append(write.clone()).await;
    fenced(error.expect_err("it is another's thread"), "a fact");
    let compaction = Compaction {
        batch: write.clone(),
        drop: vec![1..=seen],
    };
    let error = journal.compact(compaction).await;
    fenced(error.expect_err("it is another's thread"), "a compaction");
    let error = journal.remove(&thread("t"), old.epoch).await;
    fenced(error.expect_err("it is another's thread"), "a removal");
    if matches!(made, Made::Claimed) {
        // A copy has the intent that may be ended.
        let end = Batch {
            author: Author::Late {
                epoch: old.epoch,
                intent: FactKey::from("call/c-1/intent/1"),
            },
            entries: vec![fact("call/c-1/result", "1")],
            ..write
        };
        let error = journal.append(end).await;
        fenced(error.expect_err("there is no such intent"), "an end");
    }
    assert_eq!(count(journal, "t").await, records, "{made:?}");
}

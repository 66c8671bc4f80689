//! Forks and exports while the thread is pruned: they are of before or of after,
//! never of both.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use futures::FutureExt;
use rustagents_core::{
    BoxFuture,
    code::{Code, Coded},
    ids::{MessageId, ThreadId},
    journal::{Compaction, Journal, JournalError, Owner},
    message::Message,
};
use rustagents_runtime::threads::{
    Fork, Keep,
    check::check,
    fork,
    transfer::{export, image, read},
};
use rustagents_store::MemoryJournal;
use rustagents_testkit::{batch, hooked::HookedJournal};
use serde_json::json;

use super::{WORD, name};
use crate::bench::Bench;

type Hook = Box<dyn Fn(&ThreadId) -> BoxFuture<'static, Result<(), JournalError>> + Send + Sync>;

/// Twelve runs on `t`, and a hook that prunes one more of them away, the first
/// `times` times that it is called.
async fn pruned_meanwhile(times: u32) -> (Arc<dyn Journal>, Hook) {
    let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let bench = Bench::on(inner.clone());
    for note in 0..12 {
        bench.say("t", WORD, json!(note)).await;
    }
    let (pruning, calls) = (inner.clone(), AtomicU32::new(0));
    let hook = move |_: &ThreadId| {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        let pruning = pruning.clone();
        Box::pin(async move {
            if call < times {
                let keep = Keep::Last(u64::from(22 - 2 * call));
                let bench = Bench::on(pruning);
                bench.live().prune(&name("t"), keep).await.unwrap();
            }
            Ok(())
        }) as BoxFuture<'static, _>
    };
    (inner, Box::new(hook))
}

fn at(checkpoint: u64) -> Fork {
    Fork {
        from: name("t"),
        to: name("u"),
        checkpoint: Some(checkpoint),
        repeats: false,
    }
}

#[tokio::test]
async fn a_fork_is_made_anew_when_the_thread_was_pruned_before_its_copy() {
    let (inner, hook) = pruned_meanwhile(1).await;
    let beside = HookedJournal::new(inner.clone()).before_copy(hook);
    fork(&beside, &at(8)).await.unwrap();
    assert_eq!(check(&*inner, &name("u")).await.unwrap().len(), 0);
    let bench = Bench::on(inner);
    bench.one_more("u").await;
    bench.is_whole("u").await;
}

#[tokio::test]
async fn an_export_is_whole_when_the_thread_is_pruned_beside_it() {
    for (before, is_paged) in (0..8).flat_map(|before| [(before, false), (before, true)]) {
        // The first read, or one of those behind it.
        let (inner, hook) = pruned_meanwhile(1).await;
        let reads = AtomicU32::new(0);
        let beside = HookedJournal::new(inner.clone()).before_read(move |thread| {
            if reads.fetch_add(1, Ordering::SeqCst) < before {
                return Box::pin(async { Ok(()) });
            }
            hook(thread)
        });
        let image = if is_paged {
            let lines = export(&beside, &name("t"), || Ok(Vec::new())).await;
            read(&mut &lines.unwrap().0[..]).unwrap()
        } else {
            image(&beside, &name("t")).await.unwrap()
        };
        let elsewhere = MemoryJournal::new();
        elsewhere.install(image).await.unwrap();
        let problems = check(&elsewhere, &name("t")).await.unwrap();
        assert_eq!(problems.len(), 0, "after {before} reads");
    }
}

#[tokio::test]
async fn an_export_that_is_always_overtaken_gives_up() {
    let (inner, hook) = pruned_meanwhile(10).await;
    let beside = HookedJournal::new(inner.clone()).before_read(hook);
    let error = image(&beside, &name("t")).await.unwrap_err();
    assert_eq!(error.code(), Code::Busy);
    let (inner, hook) = pruned_meanwhile(10).await;
    let beside = HookedJournal::new(inner.clone()).before_read(hook);
    let mut begun = 0;
    let lines = || {
        begun += 1;
        Ok(Vec::new())
    };
    let error = export(&beside, &name("t"), lines).await.unwrap_err();
    assert_eq!((error.code(), begun), (Code::Busy, 5));
}

#[tokio::test]
async fn an_export_ends_though_its_last_message_goes_and_many_follow_it() {
    let journal = MemoryJournal::new();
    let t = name("t");
    let claim = journal.claim(&t, Owner::default()).await.unwrap();
    let write = |number: u64| {
        let id = MessageId::numbered(number);
        let body = format!("[\"{id}\"]");
        let mut write = batch::fact(&t, claim.epoch, &format!("k-{number}"), &body);
        write.messages = vec![Arc::new(Message::user(id, "hello"))];
        write
    };
    for number in 1..=3 {
        journal.append(write(number)).await.unwrap();
    }
    let mut begun = 0;
    let lines = || {
        begun += 1;
        if begun == 1 {
            // Behind the survey: more than a page of messages, and the last one goes.
            let all = async {
                for number in 4..=150 {
                    journal.append(write(number)).await.unwrap();
                }
                let compaction = Compaction {
                    batch: batch::fact(&t, claim.epoch, "pruned", "{}"),
                    drop: vec![3..=3],
                };
                journal.compact(compaction).await.unwrap();
            };
            // In memory nothing waits.
            all.now_or_never().unwrap();
        }
        Ok(Vec::new())
    };
    let (_, counts) = export(&journal, &t, lines).await.unwrap();
    assert_eq!((counts.messages, counts.records, begun), (149, 150, 2));
}

#[tokio::test]
async fn a_check_beside_a_pruning_names_nothing() {
    for before in 0..4 {
        let (inner, hook) = pruned_meanwhile(1).await;
        let reads = AtomicU32::new(0);
        let beside = HookedJournal::new(inner).before_read(move |thread| {
            if reads.fetch_add(1, Ordering::SeqCst) < before {
                return Box::pin(async { Ok(()) });
            }
            hook(thread)
        });
        let problems = check(&beside, &name("t")).await.unwrap();
        assert_eq!(problems.len(), 0, "after {before} reads");
    }
}

//! Reading kept events, as they come and again.

use rustagents_runtime::replay::{Replay, Replayed, Subscription};

use super::*;

fn query() -> EventQuery {
    EventQuery::from(1).of_thread(thread())
}

/// What a subscriber is given, until an attempt is over.
async fn until_the_end(subscription: &mut Subscription) -> (Vec<PlacedEvent>, Vec<Replayed>) {
    let (mut events, mut others) = (Vec::new(), Vec::new());
    while let Some(replayed) = subscription.next().await.unwrap() {
        match replayed {
            Replayed::Event(placed) => {
                let is_end = placed.event.kind == "run.ended";
                events.push(placed);
                if is_end {
                    break;
                }
            }
            other => others.push(other),
        }
    }
    (events, others)
}

#[tokio::test]
async fn a_slow_subscriber_is_told_and_misses_nothing() {
    let journal = Arc::new(MemoryEvents::default());
    let keep = KeepEvents::new(journal.clone());
    let mut slow = keep.subscribe(query(), 4);
    // It is at its beginning, and takes nothing while 2,000 events pass.
    assert!(futures::poll!(Box::pin(slow.next())).is_pending());
    let runner = runner(Events::default(), keep.clone());
    runner
        .run(&talkative(2_000), "t", Writes::new())
        .await
        .unwrap();
    let (events, others) = until_the_end(&mut slow).await;
    let [Replayed::Lagged(missed)] = others[..] else {
        panic!("{others:?}");
    };
    assert_eq!(missed, 2_006 - 4);
    assert_eq!(events, all(&*journal).await);
    assert_eq!(slow.offset(), 2_007);

    // It goes on with what happens next.
    runner.run(&talkative(1), "t", Writes::new()).await.unwrap();
    let (events, _) = until_the_end(&mut slow).await;
    assert_eq!(kinds(&events).first(), Some(&"run.started"));
    assert_eq!(events.len(), 7);
    drop((keep, runner));
    assert_eq!(slow.next().await.unwrap(), None);
}

#[tokio::test]
async fn a_subscriber_beside_the_run_gets_each_event_once() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Arc::new(SqliteEvents::new(folder.path().join("events.db")));
    let keep = KeepEvents::new(journal.clone());
    let mut subscription = keep.subscribe(query().of_kind("node.custom"), 64);
    let graph = talkative(300);
    let runner = runner(Events::default(), keep.clone());
    let run = async {
        runner.run(&graph, "t", Writes::new()).await.unwrap();
    };
    let taken = async {
        let mut values = Vec::new();
        while values.len() < 300 {
            if let Replayed::Event(placed) = subscription.next().await.unwrap().unwrap() {
                values.push(placed.event.payload["value"].as_u64().unwrap());
            }
        }
        values
    };
    let ((), values) = tokio::join!(run, taken);
    assert_eq!(values, (0..300).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_another_program_appends_in_between_comes_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let journal = Arc::new(SqliteEvents::new(&path));
    let keep = KeepEvents::new(journal.clone());
    let mut subscription = keep.subscribe(EventQuery::from(1), 64);
    let ours = runner(Events::default(), keep.clone());
    ours.run(&talkative(1), "t", Writes::new()).await.unwrap();
    let others = KeepEvents::new(Arc::new(SqliteEvents::new(&path)));
    let other = runner(Events::default(), others);
    other.run(&talkative(1), "u", Writes::new()).await.unwrap();
    ours.run(&talkative(1), "v", Writes::new()).await.unwrap();
    let mut offsets = Vec::new();
    while offsets.len() < 21 {
        if let Replayed::Event(placed) = subscription.next().await.unwrap().unwrap() {
            offsets.push(placed.offset);
        }
    }
    assert_eq!(offsets, (1..=21).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_replay_goes_on_from_an_offset_and_tells_of_what_is_gone() {
    let journal = Arc::new(MemoryEvents::default());
    let runner = runner(Events::default(), KeepEvents::new(journal.clone()));
    runner.run(&talkative(3), "t", Writes::new()).await.unwrap();
    let mut replay = Replay::of(journal.clone(), query().limit(2));
    for offset in 1..=3 {
        let Some(Replayed::Event(placed)) = replay.next().await.unwrap() else {
            panic!("an event");
        };
        assert_eq!(placed.offset, offset);
    }
    let remembered = replay.offset();
    assert_eq!(remembered, 4);
    journal.drop_events(Retention::Before(6)).await.unwrap();
    let mut replay = Replay::of(journal.clone(), query().on_from(remembered));
    let gone = replay.next().await.unwrap();
    assert_eq!(gone, Some(Replayed::Dropped { from: 4, to: 6 }));
    let mut offsets = Vec::new();
    while let Some(Replayed::Event(placed)) = replay.next().await.unwrap() {
        offsets.push(placed.offset);
    }
    assert_eq!(offsets, [6, 7, 8, 9]);
    // Who follows waits for the next one.
    let mut followed = Box::pin(replay.follow());
    assert!(futures::poll!(&mut followed).is_pending());
    runner.run(&talkative(0), "t", Writes::new()).await.unwrap();
    let Replayed::Event(placed) = followed.await.unwrap() else {
        panic!("an event");
    };
    assert_eq!((placed.offset, &*placed.event.kind), (10, "run.started"));
}

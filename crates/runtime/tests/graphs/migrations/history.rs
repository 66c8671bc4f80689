//! Any history: what is migrated is the state that there was.

use std::io::BufReader;

use super::*;
use proptest::prelude::*;
use rustagents_runtime::threads::{
    Keep,
    transfer::{image, read, write},
};

/// What is done with a thread in the program of before, or to it.
#[derive(Clone, Debug)]
enum Act {
    Input(u64),
    Answer,
    Cancel,
    /// So large that the driver writes snapshots.
    Large(usize),
    Back(u64),
    Prune(u64),
    Fork(u64),
    Move,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (0_u64..10).prop_map(Act::Input),
        2 => Just(Act::Answer),
        1 => Just(Act::Cancel),
        2 => (30_000_usize..60_000).prop_map(Act::Large),
        1 => (1_u64..20).prop_map(Act::Back),
        1 => (1_u64..4).prop_map(Act::Prune),
        1 => (1_u64..20).prop_map(Act::Fork),
        1 => Just(Act::Move),
    ];
    proptest::collection::vec(act, 1..14)
}

/// How the program that is at work goes on with a thread.
#[derive(Clone, Copy, Debug)]
enum Then {
    Resume,
    Run,
    Update,
    Back(u64),
}

fn then() -> impl Strategy<Value = Then> {
    prop_oneof![
        Just(Then::Resume),
        Just(Then::Run),
        Just(Then::Update),
        (1_u64..20).prop_map(Then::Back),
    ]
}

/// A thread, wherever it is by now.
struct Thread {
    bench: Bench,
    name: String,
}

impl Thread {
    /// Does it, if that can be done.
    async fn act(&mut self, act: Act) {
        let (runner, name) = (self.bench.runner(), self.name.clone());
        match act {
            Act::Input(price) => {
                let input = Old::update().price(price.to_string());
                drop(runner.run(&old(), &name, input).await);
            }
            Act::Answer => {
                let view = runner.state(&old(), &name).await.unwrap();
                let answers: Vec<_> = view
                    .asks
                    .iter()
                    .map(|ask| (ask.id.clone(), "yes"))
                    .collect();
                drop(runner.resume(&old(), &name, answers).await);
            }
            Act::Cancel => runner.cancel(&name).await.unwrap(),
            Act::Large(bytes) => {
                for letter in ["a", "b", "c", "d"] {
                    let edit = Edit::new(Old::update().big(letter.repeat(bytes)));
                    runner.update(&old(), &name, [edit]).await.unwrap();
                }
            }
            Act::Back(number) => drop(runner.rewind(&old(), &name, number).await),
            act => self.change(act).await,
        }
    }

    /// Does it without any program.
    async fn change(&mut self, act: Act) {
        let thread = ThreadId::new(&self.name).unwrap();
        match act {
            Act::Prune(keep) => {
                let runtime = self.bench.runtime();
                runtime.prune(&thread, Keep::Last(keep)).await.unwrap();
            }
            Act::Fork(number) => {
                let to = ThreadId::new(&format!("{thread}f")).unwrap();
                let copy = Fork {
                    from: thread,
                    to: to.clone(),
                    checkpoint: Some(number),
                    repeats: false,
                };
                if fork(&*self.bench.journal, &copy).await.is_ok() {
                    self.name = to.to_string();
                }
            }
            _ => {
                let mut bytes = Vec::new();
                let image = image(&*self.bench.journal, &thread).await.unwrap();
                write(&image, &mut bytes).unwrap();
                let journal = MemoryJournal::new();
                let image = read(&mut BufReader::new(&*bytes)).unwrap();
                journal.install(image).await.unwrap();
                self.bench = Bench {
                    ids: Arc::clone(&self.bench.ids),
                    ..Bench::on(Arc::new(journal))
                };
            }
        }
    }

    /// Goes on in the program of now; what the state is then, less what was added.
    async fn goes_on(&self, then: Then) -> Option<New> {
        let (runner, name) = (self.bench.runner(), &*self.name);
        let view = runner.state(&new(), name).await.unwrap();
        let mut base = New::clone(&view.state);
        let now = match then {
            Then::Resume if view.status.is_none_or(|status| status == Status::Suspended) => {
                let answers: Vec<_> = view
                    .asks
                    .iter()
                    .map(|ask| (ask.id.clone(), "yes"))
                    .collect();
                runner.resume(&new(), name, answers).await.unwrap().state
            }
            Then::Run => runner.run(&new(), name, New::update()).await.ok()?.state,
            Then::Update => {
                let edit = Edit::new(New::update().added(Some("here".into())));
                runner.update(&new(), name, [edit]).await.unwrap().state
            }
            Then::Back(number) => {
                let at = runner.state_at(&new(), name, number).await.ok()?;
                base = New::clone(&at);
                runner.rewind(&new(), name, number).await.ok()?.state
            }
            Then::Resume => return None,
        };
        let mut now = New::clone(&now);
        now.log.truncate(base.log.len());
        Some(New {
            added: None,
            hits: base.hits,
            ..now
        })
    }
}

async fn check_history(acts: Vec<Act>, then: Then) {
    let mut thread = Thread {
        bench: Bench::new(),
        name: "t".into(),
    };
    thread.bench.sell(2).await;
    for act in acts {
        thread.act(act).await;
    }
    let (runner, name) = (thread.bench.runner(), thread.name.clone());
    let was = runner.state(&old(), &name).await.unwrap();
    let seen = runner.state(&new(), &name).await.unwrap();
    assert_eq!(*seen.state, mapped(&was.state));
    let expected = match then {
        Then::Back(number) => {
            let was = runner.state_at(&old(), &name, number).await;
            was.ok().map(|was| mapped(&was))
        }
        _ => Some(mapped(&was.state)),
    };
    for number in 1..=was.checkpoint {
        let (was, now) = (
            runner.state_at(&old(), &name, number).await,
            runner.state_at(&new(), &name, number).await,
        );
        assert_eq!(now.is_ok(), was.is_ok());
        if let (Ok(was), Ok(now)) = (was, now) {
            assert_eq!(*now, mapped(&was), "{number}");
        }
    }
    let Some(now) = thread.goes_on(then).await else {
        return;
    };
    assert_eq!(Some(now), expected);
    check_whole(&thread).await;
    // What is done to the thread now leaves its state as it is, and migrated.
    let after = runner.state(&new(), &name).await.unwrap();
    for act in [
        Act::Move,
        Act::Fork(after.checkpoint),
        Act::Prune(1),
        Act::Move,
    ] {
        thread.change(act).await;
        let runner = thread.bench.runner();
        let same = runner.state(&new(), &thread.name).await.unwrap();
        assert_eq!(
            (&same.state, same.checkpoint),
            (&after.state, after.checkpoint)
        );
        let refused = runner.state(&old(), &thread.name).await.unwrap_err();
        assert_eq!(refused.code().as_str(), "RAG0817");
        check_whole(&thread).await;
    }
}

async fn check_whole(thread: &Thread) {
    let name = ThreadId::new(&thread.name).unwrap();
    assert_eq!(check(&*thread.bench.journal, &name).await.unwrap(), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_migrated_is_the_state_that_there_was(acts in acts(), then in then()) {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().build().unwrap();
        runtime.block_on(check_history(acts, then));
    }
}

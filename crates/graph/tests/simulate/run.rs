//! One run of a graph through as many attempts as it takes.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use futures::future::{Either, join, select};
use rustagents_core::{
    CancellationToken,
    ask::{Answer, Ask, Subject},
    budget::{Budget, Limits, Spent},
    clock::Clock,
    code::Code,
    event::{Event, Events},
    ids::{AskId, Branch, ThreadId},
    journal::{Journal, JournalError, Owner},
    log::ThreadLog,
    message::Message,
    recorder::Durability,
    scope::{Halt, RunShared, Scope, Write},
};
use rustagents_graph::{
    Graph, GraphEnd, Outcome, Update, Writes, graph::OpenError, node::NodeFailure,
};
use rustagents_store::MemoryJournal;
use rustagents_testkit::{
    drive,
    simulate::{Death, Dice, Storm, StormyJournal},
};
use serde_json::{Value, json};

use super::{
    build::{graph, hash, view},
    plan::Plan,
    world::{CHAOS, Ledger, World},
};
use crate::bench::Closing;

/// The most attempts after the storm.
const MAX_CALM: usize = 120;

/// No budget ends a run: each graph has a recursion limit.
const ENOUGH: Limits = Limits {
    steps: 100_000,
    model_calls: 0,
    tool_calls: 0,
    driven: Duration::from_hours(1_000),
};

/// What a run came to.
#[derive(Debug, PartialEq)]
pub(super) struct Ending {
    pub(super) outcome: String,
    pub(super) state: Value,
    pub(super) steps: u64,
}

/// What goes wrong in an attempt.
#[derive(Clone, Copy, Debug)]
struct Weather {
    durability: Durability,
    storm: Storm,
    /// After how many milliseconds it is cancelled, drained, or answered.
    cancel: Option<u64>,
    drain: Option<u64>,
    answer: Option<u64>,
    calm: bool,
}

impl Weather {
    const CALM: Self = Self {
        durability: Durability::Sync,
        storm: Storm {
            strike: None,
            latency_ms: 0,
        },
        cancel: None,
        drain: None,
        answer: None,
        calm: true,
    };

    fn random(dice: &mut Dice) -> Self {
        let durability = [Durability::Sync, Durability::Async, Durability::Exit];
        let side = dice.chance(50);
        let death = [Death::WithItsProcess, Death::Alone];
        let strike = (1 + dice.below(8), side, *dice.pick(&death));
        let mut moment = |percent| dice.chance(percent).then(|| dice.below(60));
        let (cancel, drain, answer) = (moment(25), moment(15), moment(50));
        Self {
            durability: *dice.pick(&durability),
            storm: Storm {
                strike: dice.chance(65).then_some(strike),
                latency_ms: *dice.pick(&[0, 0, 3, 15]),
            },
            cancel,
            drain,
            answer,
            calm: false,
        }
    }
}

/// How an attempt ended.
enum Stopped {
    Ended(Ending),
    Asked,
    /// A failure that the simulation made, or a stop that it caused.
    Disturbed,
}

pub(super) struct Run {
    graph: Graph,
    pub(super) world: Arc<World>,
    journal: Arc<dyn Journal>,
    dice: Dice,
    attempts: u32,
    /// The questions that nobody has answered.
    open: BTreeMap<AskId, Ask>,
    answered: BTreeSet<AskId>,
}

fn thread() -> ThreadId {
    ThreadId::new("t").unwrap()
}

/// The payment that a question is about. Each time that it is made anew, it is
/// another step of the same name.
fn in_doubt(ask: &Ask) -> &str {
    let (step, _) = ask.id.as_str().split_once("/doubt/").unwrap();
    step.rsplit_once('#').unwrap().0
}

/// What the person says to a question of a node.
fn reply(world: &World, ask: &Ask) -> Answer {
    if !matches!(ask.subject, Subject::StepInDoubt(_)) {
        let value = json!(hash(&json!(ask.id.as_str())) % 10);
        return Answer::Value { value };
    }
    let payment = in_doubt(ask);
    if world.look_up(payment) {
        let result = json!(hash(&json!(payment)));
        return Answer::Done { result };
    }
    match world.any(2) {
        0 => Answer::Repeat,
        _ => Answer::NotDone,
    }
}

impl Run {
    pub(super) fn new(plan: &Plan, mut dice: Dice, calm: bool) -> Self {
        let world = World::new(dice.split(), calm);
        Self {
            graph: graph(plan, &world),
            world,
            journal: Arc::new(MemoryJournal::new()),
            dice,
            attempts: 0,
            open: BTreeMap::new(),
            answered: BTreeSet::new(),
        }
    }

    pub(super) fn ledger(&self) -> Ledger {
        self.world.ledger()
    }

    /// Attempts in some weather each; whatever ends them, calm ones follow.
    pub(super) fn through_storms(&mut self) -> Result<(), String> {
        for _ in 0..=self.dice.below(7) {
            let weather = Weather::random(&mut self.dice);
            if let Stopped::Asked = self.attempt(weather)?
                && self.dice.chance(75)
            {
                self.answer(self.open.len())?;
            }
            self.pause()?;
            self.look()?;
        }
        Ok(())
    }

    /// Attempts without anything in the way, until the run ends.
    pub(super) fn end_calmly(&mut self) -> Result<Ending, String> {
        for _ in 0..MAX_CALM {
            match self.attempt(Weather::CALM)? {
                Stopped::Ended(ending) => return Ok(ending),
                Stopped::Asked => self.answer(self.open.len())?,
                Stopped::Disturbed => {}
            }
        }
        Err(format!("no end after {MAX_CALM} calm attempts"))
    }

    /// Lets some time pass in which nobody drives the run, or none.
    fn pause(&mut self) -> Result<(), String> {
        let pause = Duration::from_millis(*self.dice.pick(&[0, 30, 90]));
        let clock = self.world.clock.clone();
        let slept = clock.run(clock.sleep(pause));
        slept.map_err(|stuck| stuck.to_string())
    }

    /// Answers open questions, up to `most` of them, in any order; at times not all.
    fn answer(&mut self, most: usize) -> Result<(), String> {
        // Most at once, since each attempt reads the log anew.
        let some = most.saturating_sub(self.dice.index(most.min(3)));
        let mut asks: Vec<Ask> = self.open.values().cloned().collect();
        self.dice.shuffle(&mut asks);
        for ask in asks.into_iter().take(some) {
            self.answered.insert(ask.id.clone());
            self.open.remove(&ask.id);
            let clock = self.world.clock.clone();
            let told = clock.run(answer(
                Arc::clone(&self.journal),
                Arc::clone(&self.world),
                ask,
            ));
            told.map_err(|stuck| stuck.to_string())?
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn attempt(&mut self, weather: Weather) -> Result<Stopped, String> {
        self.attempts += 1;
        let number = self.attempts;
        self.world.note(format!("attempt {number} in {weather:?}"));
        let durable = Arc::clone(&self.world);
        let process = Arc::new(StormyJournal::new(
            Arc::clone(&self.journal),
            weather.storm,
            self.world.clock.clone(),
            self.dice.split(),
            move |batch| durable.durable(batch),
        ));
        self.world.begin_process(Arc::clone(&process), weather.calm);
        let meanwhile = self.meanwhile(weather.answer);
        let clock = self.world.clock.clone();
        let ended = clock.run(async {
            let died = pin!(process.died());
            let driven = pin!(self.drive(Arc::clone(&process), weather));
            let driven = async {
                match select(driven, died).await {
                    Either::Left((ended, _)) => Some(ended),
                    Either::Right(_) => None,
                }
            };
            join(driven, meanwhile).await.0
        });
        self.world.end_process();
        let ended = ended.map_err(|stuck| stuck.to_string())?;
        if process.is_dead() {
            self.world.strike();
        }
        let stopped = match ended {
            None => {
                self.world.note("its process was killed".into());
                Ok(Stopped::Disturbed)
            }
            Some(Ok(end)) => self.ended(&end),
            Some(Err(halt)) => {
                self.world.note(format!("stopped: {halt}"));
                halted(&halt, weather)
            }
        };
        stopped.map_err(|what| format!("attempt {number}: {what}"))
    }

    /// Answers one of the open questions while the run is driven.
    fn meanwhile(&mut self, after: Option<u64>) -> impl Future<Output = ()> + use<> {
        let asks: Vec<Ask> = self.open.values().cloned().collect();
        let chosen = asks.get(self.dice.index(asks.len())).cloned();
        let ask = after.zip(chosen);
        if let Some((_, ask)) = &ask {
            self.open.remove(&ask.id);
            self.answered.insert(ask.id.clone());
        }
        let (journal, world) = (Arc::clone(&self.journal), Arc::clone(&self.world));
        async move {
            let Some((after, ask)) = ask else { return };
            world.clock.sleep(Duration::from_millis(after)).await;
            answer(journal, world, ask).await.unwrap();
        }
    }

    async fn drive(&self, process: Arc<StormyJournal>, weather: Weather) -> Result<GraphEnd, Halt> {
        let claim = process.claim(&thread(), Owner::default()).await?;
        let log = ThreadLog::load(&*process, &thread(), &Branch::main()).await?;
        let (cancel, drain) = (CancellationToken::new(), CancellationToken::new());
        let scope = Scope::root(RunShared {
            attempt: self.attempts,
            budget: Budget::resumed(ENOUGH, Spent::default()),
            clock: Arc::new(self.world.clock.clone()),
            events: self.events(),
            durability: weather.durability,
            cancel: cancel.clone(),
            drain: drain.clone(),
            ..drive::shared(process.clone(), thread(), &claim, log)
        });
        let fired = pin!(async {
            futures::join!(
                self.fire(weather.cancel, cancel),
                self.fire(weather.drain, drain)
            );
            std::future::pending::<()>().await;
        });
        let driven = pin!(async {
            let end = scope.attended(self.opened(&scope)).await;
            if !matches!(&end, Err(Halt::Journal(_))) {
                scope.flush().await?;
            }
            end
        });
        match select(driven, fired).await {
            Either::Left((end, _)) => end,
            Either::Right(_) => Err(Halt::Cancelled),
        }
    }

    /// Notes what is told of tasks that do not go on.
    fn events(&self) -> Events {
        let world = Arc::clone(&self.world);
        Events::listen(move |event| match event {
            Event::NodeFailed { task, message, .. } | Event::NodeRetried { task, message, .. } => {
                world.fail(task, message);
            }
            Event::NodeCached { task, .. } => world.note(format!("{task} was there already")),
            Event::NodeSuspended { task, .. } => world.note(format!("{task} waits")),
            _ => {}
        })
    }

    async fn fire(&self, after: Option<u64>, token: CancellationToken) {
        if let Some(after) = after {
            self.world.clock.sleep(Duration::from_millis(after)).await;
            token.cancel();
        }
    }

    async fn opened(&self, scope: &Scope) -> Result<GraphEnd, Halt> {
        let mut at = self.graph.restore(scope)?;
        if at.checkpoint == 0 {
            let mut input = Writes::new();
            let hello = Message::user(scope.mint_message(), "hello");
            input.push("messages", Update::Messages(vec![hello.into()]));
            let opened = Box::pin(self.graph.open(scope, at, input, Write::new())).await;
            at = opened.map_err(|error| match error {
                OpenError::Halt(halt) => halt,
                other => panic!("{other}"),
            })?;
        }
        Box::pin(self.graph.drive(scope, at, &Closing)).await
    }

    fn ended(&mut self, end: &GraphEnd) -> Result<Stopped, String> {
        let outcome = match &end.outcome {
            Outcome::Completed => "completed".to_owned(),
            Outcome::Suspended(asks) => {
                self.world.note(format!("asked {}", told(asks)));
                let doubts = asks.iter().filter(|ask| ask.subject.is_in_doubt());
                doubts.for_each(|ask| self.world.doubt(in_doubt(ask)));
                self.open = asks
                    .iter()
                    .filter(|ask| !self.answered.contains(&ask.id))
                    .map(|ask| (ask.id.clone(), ask.clone()))
                    .collect();
                return Ok(Stopped::Asked);
            }
            Outcome::Failed { failure, .. } if is_chaos(failure) => {
                self.world.note(format!("failed: {}", failure.message));
                return Ok(Stopped::Disturbed);
            }
            Outcome::Failed { node, failure } => {
                format!("{node} {}: {}", failure.code, failure.message)
            }
            other => return Err(format!("ended as {other:?}")),
        };
        Ok(Stopped::Ended(Ending {
            outcome,
            state: view(&end.state),
            steps: end.steps,
        }))
    }

    /// Looks at the graphs inside, wherever a storm left them.
    fn look(&self) -> Result<(), String> {
        let work = async {
            let claim = self.journal.claim(&thread(), Owner::default()).await?;
            let log = ThreadLog::load(&*self.journal, &thread(), &Branch::main()).await?;
            let shared = drive::shared(Arc::clone(&self.journal), thread(), &claim, log);
            let scope = Scope::root(shared);
            let at = self.graph.position(&scope)?;
            Ok::<_, Halt>((self.graph.children(&scope, &at)?, at))
        };
        let (children, at) = self
            .world
            .clock
            .run(work)
            .unwrap()
            .map_err(|halt| halt.to_string())?;
        let mut places = BTreeSet::new();
        for child in children.found() {
            let place = child.namespace.as_str();
            let outermost = place.split('/').next().unwrap_or_default();
            let is_pending = at
                .tasks()
                .iter()
                .any(|task| task.task.as_str() == outermost);
            if !is_pending || child.checkpoint == 0 || !places.insert(place) {
                return Err(format!("{child:?} is where no child can be"));
            }
        }
        if !places.is_empty() {
            self.world.note(format!("children: {}", places.len()));
        }
        Ok(())
    }

    /// The state that the log gives.
    pub(super) fn restored(&self) -> Result<Value, Halt> {
        let work = async {
            let claim = self.journal.claim(&thread(), Owner::default()).await?;
            let log = ThreadLog::load(&*self.journal, &thread(), &Branch::main()).await?;
            let shared = drive::shared(Arc::clone(&self.journal), thread(), &claim, log);
            Ok(view(&self.graph.restore(&Scope::root(shared))?.state))
        };
        self.world.clock.run(work).unwrap()
    }
}

async fn answer(
    journal: Arc<dyn Journal>,
    world: Arc<World>,
    ask: Ask,
) -> Result<(), JournalError> {
    let reply = reply(&world, &ask);
    world.note(format!("answer {} with {reply:?}", ask.id));
    let told = drive::answer(&*journal, thread(), &ask.id, &reply).await;
    let Some(question) = with_a_time(&ask) else {
        return told;
    };
    match told {
        Ok(()) => world.replied(question, true),
        Err(JournalError::AlreadyRecorded { .. }) => world.replied(question, false),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// What a question is called that expires: its task and its text.
fn with_a_time(ask: &Ask) -> Option<String> {
    let Subject::Interrupt {
        until_ms: Some(_), ..
    } = ask.subject
    else {
        return None;
    };
    let (task, _) = ask.id.as_str().rsplit_once('/')?;
    Some(format!("{task}/{}", ask.prompt))
}

fn told(asks: &[Ask]) -> String {
    let ids: Vec<_> = asks.iter().map(|ask| ask.id.as_str()).collect();
    ids.join(" ")
}

fn is_chaos(failure: &NodeFailure) -> bool {
    let message = &failure.message;
    failure.code == Code::NodeTimeout || message.contains(CHAOS) || message.contains("panicked")
}

/// Whether the weather explains why the machine stopped.
fn halted(halt: &Halt, weather: Weather) -> Result<Stopped, String> {
    let is_explained = match halt {
        Halt::Cancelled => weather.cancel.is_some(),
        Halt::Drained => weather.drain.is_some(),
        Halt::Journal(error) => weather.storm.strike.is_some() && is_unavailable(error),
        _ => false,
    };
    if is_explained {
        return Ok(Stopped::Disturbed);
    }
    Err(format!("stopped by {halt:?} in {weather:?}"))
}

fn is_unavailable(error: &JournalError) -> bool {
    match error {
        JournalError::Behind { error, .. } => is_unavailable(error),
        error => matches!(error, JournalError::Unavailable { .. }),
    }
}

//! `rag chat`: a conversation on one thread, with approvals at the prompt.

use std::{cell::Cell, process::ExitCode};

use rustagents_core::{Code, ask::Ask, ids::ThreadId, recorder::Durability};
use rustagents_runtime::{
    Decision, Report, Resume, Retry, RunError, Runtime, Start, Status, ThreadView, Watch,
    threads::Rewind, view::Phase,
};

use crate::{
    arguments::{Chat, program, quote},
    chat::{
        command::{self, Command},
        prompt::{Prompt, Typed, not_text},
        reply,
        screen::Screen,
    },
    command::{finish, keeping::keeping, must_record, runtime},
    failure::Failure,
    output::{self, Output},
    plan::{Plan, Ready, text},
    signals::{HUNG_UP, Signals},
    store::Address,
    tools::Care,
};

/// The largest message, in bytes.
const MAX_MESSAGE: u64 = 1 << 20;

/// The exit status after Ctrl-C.
const INTERRUPTED: u8 = 130;

pub(crate) async fn chat(arguments: &Chat, output: &Output) -> Result<ExitCode, Failure> {
    if output.is_json() {
        let message = "a conversation is not JSON";
        return Err(Failure::new(Code::Usage, message).hint("use `rag run` and `rag resume`"));
    }
    let common = &arguments.common;
    let address = Address::parse(common.store.as_deref())?;
    let thread = arguments.thread.as_deref().map(ThreadId::new).transpose();
    let thread = thread.map_err(|error| Failure::of(&error))?;
    let (target, config) = (&arguments.target, common.config.as_deref());
    let ready = Plan::load(target, config, &arguments.models, Care::Run)?.ready()?;
    if ready.program.conversation().is_none() {
        return Err(RunError::NoConversation.into());
    }
    must_record(&arguments.common, "a conversation goes on from its record")?;
    let journal = address.open()?;
    let known = match (&thread, address.exists()?) {
        (Some(thread), true) => ThreadView::load(&*journal, thread).await?,
        _ => None,
    };
    let output = &output.in_chat();
    let talk = Talk {
        runtime: keeping(runtime(journal), &address, ready.events, arguments.keeping),
        takes_over: Cell::new(arguments.takeover),
        ready,
        signals: Signals::listen()?,
        prompt: Prompt::open()?,
        output,
        durability: arguments.common.durability.into(),
    };
    let mut thread = thread;
    let left = talk.hold(&mut thread, known).await;
    if let Some(thread) = thread {
        output.note(&format!("go on with `{}`", go_on(arguments, &thread)));
    }
    match left {
        // Nobody is there any more to whom the answer could be said.
        Err(failure) if failure.code == Code::OutputFailed && talk.signals.is_hung_up() => {
            Ok(ExitCode::from(HUNG_UP))
        }
        left => left,
    }
}

/// The command that goes on with the conversation.
fn go_on(arguments: &Chat, thread: &ThreadId) -> String {
    let mut words = vec![program(), "chat".into()];
    words.push(quote(&arguments.target.to_string_lossy()));
    words.extend(["--thread".into(), quote(thread.as_str())]);
    if let Some(config) = &arguments.common.config {
        words.extend(["--config".into(), quote(&config.to_string_lossy())]);
    }
    for model in &arguments.models {
        words.extend(["--model".into(), quote(model)]);
    }
    if let Some(store) = &arguments.common.store {
        words.extend(["--store".into(), quote(store)]);
    }
    words.join(" ")
}

/// What is open is answered by the plan, configuration and models that opened it.
fn of_another_plan(report: &Report) -> Failure {
    let message = format!(
        "the open run of thread `{}` has another plan, configuration or model",
        report.thread
    );
    let mut failure = Failure::new(Code::RunUnfinished, message);
    failure.thread = Some(report.thread.as_str().into());
    failure
}

struct Talk<'a> {
    runtime: Runtime,
    /// The next claim takes the thread over. Whoever takes it from us is left alone.
    takes_over: Cell<bool>,
    ready: Ready,
    signals: Signals,
    prompt: Prompt,
    output: &'a Output,
    durability: Durability,
}

/// What a run came to, and what the last agent said.
type Driven = (Report, Option<String>);

/// How the conversation goes on after a run.
enum Next {
    /// With another message.
    Talk,
    /// Not at all.
    Leave(ExitCode),
}

impl Talk<'_> {
    /// Talks until the person leaves. `thread` is set as soon as there is one.
    async fn hold(
        &self,
        thread: &mut Option<ThreadId>,
        known: Option<ThreadView>,
    ) -> Result<ExitCode, Failure> {
        if let Some(view) = known
            && let Next::Leave(code) = self.pick_up(&view).await?
        {
            return Ok(code);
        }
        loop {
            let message = match self.ask("> ").await? {
                Ok(message) => message,
                Err(code) => return Ok(code),
            };
            if message.trim().is_empty() {
                continue;
            }
            if let Some(command) = Command::of(&message) {
                if let Next::Leave(code) = self.perform(command, thread.as_ref()).await? {
                    return Ok(code);
                }
                continue;
            }
            if let Err(failure) = text(message.clone().into_bytes(), MAX_MESSAGE, "the message") {
                self.output.failure(&failure);
                continue;
            }
            let screen = self.screen();
            let start = Start {
                thread: thread.clone(),
                target: self.ready.target.clone(),
                input: Some(message),
                set: Vec::new(),
                limits: self.ready.limits,
            };
            let watch = self.watch(&screen);
            let report = self.driver().start(&self.ready.program, start, watch).await;
            let said = screen.close();
            let report = report?;
            *thread = Some(report.thread.clone());
            if let Next::Leave(code) = self.settle(report, said).await? {
                return Ok(code);
            }
        }
    }

    /// Does what a person asked for instead of saying something.
    async fn perform(&self, command: Command, thread: Option<&ThreadId>) -> Result<Next, Failure> {
        let done = match (command, thread) {
            (Command::Help, _) => {
                self.output.tell(command::HELP);
                return Ok(Next::Talk);
            }
            (Command::Unclear { hint }, _) => {
                let failure = Failure::new(Code::Usage, "that is no command").hint(hint);
                self.output.failure(&failure);
                return Ok(Next::Talk);
            }
            (_, None) => {
                self.output.tell("the conversation has not begun");
                return Ok(Next::Talk);
            }
            (Command::Retry, Some(thread)) => self.retry(thread).await,
            (Command::Rewind { to, repeats }, Some(thread)) => {
                self.rewind(thread, to, repeats).await
            }
        };
        match done {
            // Nothing was written, and the conversation stands as before.
            Err(error) if command::is_refusal(&error) => {
                self.output.failure(&error.into());
                Ok(Next::Talk)
            }
            Err(error) => Err(error.into()),
            Ok(Some((report, said))) => self.settle(report, said).await,
            Ok(None) => Ok(Next::Talk),
        }
    }

    /// Goes on with the last run, which failed or reached a limit.
    async fn retry(&self, thread: &ThreadId) -> Result<Option<Driven>, RunError> {
        let screen = self.screen();
        let retry = Retry {
            thread: thread.clone(),
            limits: self.ready.limits,
        };
        let watch = self.watch(&screen);
        let report = self.driver().retry(&self.ready.program, retry, watch).await;
        let said = screen.close();
        Ok(Some((report?, said)))
    }

    /// Goes back in the thread, and on from there.
    async fn rewind(
        &self,
        thread: &ThreadId,
        checkpoint: u64,
        repeats: bool,
    ) -> Result<Option<Driven>, RunError> {
        let back = Rewind {
            thread: thread.clone(),
            checkpoint,
            target: Some(self.ready.target.clone()),
            repeats,
        };
        let rewound = self.driver().rewind(&self.ready.program, back).await?;
        // Standard output is left to the answers.
        self.output.went_back(&rewound);
        if rewound.next.is_empty() {
            return Ok(None);
        }
        self.resume(thread).await.map(Some)
    }

    /// Goes on where the thread was left.
    async fn pick_up(&self, view: &ThreadView) -> Result<Next, Failure> {
        let report = view.report();
        let elsewhere = view.opened.target != self.ready.target;
        if elsewhere && !matches!(view.phase, Phase::Closed(_)) {
            return Err(of_another_plan(&report));
        }
        match &view.phase {
            Phase::Closed(closed) => {
                if let Some(answer) = &closed.output {
                    output::text(answer).map_err(Failure::of_result)?;
                }
                Ok(Next::Talk)
            }
            _ if view.waits() => self.settle(report, None).await,
            _ => {
                let (report, said) = self.resume(&view.thread).await?;
                self.settle(report, said).await
            }
        }
    }

    /// Shows what a run came to, and answers what it asks until it ends.
    async fn settle(&self, mut report: Report, mut said: Option<String>) -> Result<Next, Failure> {
        while report.status == Status::Suspended && !report.asks.is_empty() {
            if let Some(code) = self.decide(&report).await? {
                return Ok(Next::Leave(code));
            }
            (report, said) = self.resume(&report.thread).await?;
        }
        if report.is_closed {
            if let Some(answer) = report.output.as_ref().filter(|o| said.as_ref() != Some(*o)) {
                output::text(answer).map_err(Failure::of_result)?;
            }
            self.output.told_of(&report);
            self.output.spent(&report);
            return Ok(Next::Talk);
        }
        finish(&report, self.output, &self.signals).map(Next::Leave)
    }

    /// Asks the person everything that the run waits for. Each answer is recorded as
    /// soon as it is given, so that none is lost with those that are still to come.
    /// Says the exit status if the person leaves before all is answered.
    async fn decide(&self, report: &Report) -> Result<Option<ExitCode>, Failure> {
        for (answered, ask) in report.asks.iter().enumerate() {
            match self.decision(ask).await? {
                Ok(decision) => {
                    self.runtime.answer(&report.thread, &[decision]).await?;
                }
                Err(code) => {
                    // What was not answered can be answered by `rag resume`.
                    let open = report.asks.iter().skip(answered).cloned().collect();
                    self.output.told_of(&Report {
                        asks: open,
                        ..report.clone()
                    });
                    let waits = code == ExitCode::SUCCESS;
                    return Ok(Some(if waits { ExitCode::from(3) } else { code }));
                }
            }
        }
        Ok(None)
    }

    /// Asks until there is an answer, or the person leaves.
    async fn decision(&self, ask: &Ask) -> Result<Result<Decision, ExitCode>, Failure> {
        self.output.question(ask);
        let choices = reply::choices(ask);
        // What was typed before the question was there is no answer to it.
        self.prompt.forget_typed();
        loop {
            match self.ask(&choices).await? {
                Ok(typed) => {
                    if let Some(decision) = reply::decision(ask, &typed) {
                        return Ok(Ok(decision));
                    }
                }
                Err(code) => return Ok(Err(code)),
            }
        }
    }

    /// Goes on with what is recorded.
    async fn resume(&self, thread: &ThreadId) -> Result<Driven, RunError> {
        let screen = self.screen();
        let request = Resume {
            thread: thread.clone(),
            decisions: Vec::new(),
        };
        let watch = self.watch(&screen);
        let report = self
            .driver()
            .resume(&self.ready.program, request, watch)
            .await;
        let said = screen.close();
        Ok((report?, said))
    }

    fn driver(&self) -> Runtime {
        self.runtime.clone().taking_over(self.takes_over.take())
    }

    /// A line of the person, or the exit status with which they leave.
    async fn ask(&self, prompt: &str) -> Result<Result<String, ExitCode>, Failure> {
        loop {
            let told = async {
                tokio::select! {
                    () = self.signals.cancel.cancelled() => {}
                    () = self.signals.drain.cancelled() => {}
                }
            };
            let typed = tokio::select! {
                typed = self.prompt.ask(prompt) => typed?,
                () = told => return Ok(Err(ExitCode::from(self.signals.status()))),
            };
            return Ok(match typed {
                Typed::Line(line) => Ok(line),
                Typed::End => Err(ExitCode::SUCCESS),
                Typed::Interrupted => Err(ExitCode::from(INTERRUPTED)),
                Typed::Gone => Err(ExitCode::from(HUNG_UP)),
                Typed::NotText => {
                    self.output.failure(&not_text());
                    continue;
                }
            });
        }
    }

    fn screen(&self) -> Screen {
        let program = self.ready.program.clone();
        Screen::new(self.output, move |node| program.speaks(node))
    }

    fn watch(&self, screen: &Screen) -> Watch {
        Watch {
            events: screen.events(),
            cancel: self.signals.cancel.clone(),
            drain: self.signals.drain.clone(),
            durability: self.durability,
        }
    }
}

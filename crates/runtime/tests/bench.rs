//! The one place where these tests touch the API.

use std::sync::Arc;

use rustagents_core::{
    budget::Limits,
    ids::ThreadId,
    journal::{Journal, Kind},
    log::ThreadLog,
    model::ModelError,
    recorder::Durability,
    tool::{Approval, EffectClass, ToolError, ToolErrorKind},
};
use rustagents_lang::compile;
use rustagents_runtime::{
    Capabilities, Decision, Program, Report, Resume, RunError, Runtime, Start, ThreadView, Watch,
    record::Target,
};
use rustagents_store::MemoryJournal;
use rustagents_testkit::{
    clock::TestClock,
    ids::CountingIds,
    model::{FakeModel, Reply},
    tool::{FakeTool, World},
};

/// Two clerks in one step, each of whom pays; then a last word.
pub(crate) const DESK: &str = r#"graph desk {
  channel messages messages
  start left, right
  node left { kind agent  model "clerk"  prompt "Left."  tools ["pay"]  next last }
  node right { kind agent  model "clerk"  prompt "Right."  tools ["pay"]  next last }
  node last { kind agent  model "last"  prompt "Last."  next END }
}"#;

pub(crate) struct Bench {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) world: World,
    pub(crate) limits: Limits,
    pub(crate) durability: Durability,
    pub(crate) ids: Arc<CountingIds>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::on(Arc::new(MemoryJournal::new()))
    }

    pub(crate) fn on(journal: Arc<dyn Journal>) -> Self {
        Self {
            journal,
            world: World::new(),
            limits: Limits::default(),
            durability: Durability::Sync,
            ids: Arc::default(),
        }
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        let pay = || Reply::Calls(vec![("pay", r#"{"cents":5}"#.to_owned())]);
        let mut capabilities = Capabilities::default();
        capabilities.model(
            "clerk",
            Arc::new(FakeModel::new([pay(), Reply::Text("paid")])),
        );
        capabilities.model(
            "last",
            Arc::new(FakeModel::new(std::iter::repeat_n(
                Reply::Text("goodbye"),
                20,
            ))),
        );
        let more = Reply::Calls(vec![("pay", r#"{"cents":7}"#.to_owned())]);
        let more = FakeModel::new(std::iter::repeat_n(more, 20));
        capabilities.model("greedy", Arc::new(more));
        let broken = ModelError::NoRule {
            script: "s".into(),
            offered: "nothing".into(),
        };
        capabilities.model("broken", Arc::new(FakeModel::new([Reply::Fail(broken)])));
        let broken = ModelError::NoRule {
            script: "s".into(),
            offered: "nothing".into(),
        };
        capabilities.model(
            "stumbling",
            Arc::new(FakeModel::new([pay(), Reply::Fail(broken)])),
        );
        let lose = Reply::Calls(vec![("lose", "{}".to_owned())]);
        capabilities.model(
            "losing",
            Arc::new(FakeModel::new([lose, Reply::Text("lost")])),
        );
        let lose = FakeTool::new("lose", EffectClass::Once, |_, _| async {
            Err(ToolError::unknown(
                ToolErrorKind::Failed,
                "the line dropped",
            ))
        });
        let lose = lose.declare(|spec| spec.approval = Some(Approval::Allow));
        capabilities.tool(Arc::new(lose));
        capabilities.model("hang", Arc::new(FakeModel::new([Reply::Hang])));
        let dawdle = Reply::Calls(vec![("dawdle", "{}".to_owned())]);
        capabilities.model("dawdling", Arc::new(FakeModel::new([dawdle])));
        let dawdle = FakeTool::new("dawdle", EffectClass::Repeatable, |_, _| async {
            tokio::time::sleep(std::time::Duration::from_mins(1)).await;
            Ok(serde_json::json!({ "ok": true }))
        });
        capabilities.tool(Arc::new(dawdle));
        let stick = Reply::Calls(vec![("stick", "{}".to_owned())]);
        capabilities.model("sticking", Arc::new(FakeModel::new([stick])));
        let stick = FakeTool::new("stick", EffectClass::Once, |_, _| std::future::pending());
        let stick = stick.declare(|spec| spec.approval = Some(Approval::Allow));
        capabilities.tool(Arc::new(stick));
        capabilities.tool(Arc::new(FakeTool::noting(
            "pay",
            EffectClass::Once,
            &self.world,
        )));
        capabilities
    }

    pub(crate) fn program(&self, source: &str) -> Program {
        let capabilities = self.capabilities();
        let compiled = compile(source, &capabilities.snapshot().unwrap());
        let blueprint = compiled
            .blueprint
            .unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
        Program::lower(&blueprint, &capabilities).unwrap()
    }

    pub(crate) fn runtime(&self) -> Runtime {
        let clock = Arc::new(TestClock::new());
        Runtime::new(Arc::clone(&self.journal), clock, self.ids.clone())
    }

    pub(crate) fn watch(&self) -> Watch {
        Watch {
            durability: self.durability,
            ..Watch::default()
        }
    }

    pub(crate) fn thread() -> ThreadId {
        ThreadId::new("t").unwrap()
    }

    pub(crate) fn request(&self) -> Start {
        Start {
            thread: Some(Self::thread()),
            target: Target::default(),
            input: Some("hello".into()),
            set: Vec::new(),
            limits: self.limits,
        }
    }

    pub(crate) async fn start(&self, source: &str) -> Result<Report, RunError> {
        self.runtime()
            .start(&self.program(source), self.request(), self.watch())
            .await
    }

    pub(crate) async fn resume(
        &self,
        source: &str,
        decisions: Vec<Decision>,
    ) -> Result<Report, RunError> {
        let resume = Resume {
            thread: Self::thread(),
            decisions,
        };
        self.runtime()
            .resume(&self.program(source), resume, self.watch())
            .await
    }

    pub(crate) async fn view(&self) -> ThreadView {
        ThreadView::load(&*self.journal, &Self::thread())
            .await
            .unwrap()
            .unwrap()
    }

    pub(crate) async fn records(&self) -> usize {
        self.log().await.records().len()
    }

    pub(crate) async fn count(&self, kind: Kind) -> usize {
        self.log()
            .await
            .records()
            .iter()
            .filter(|record| record.is(kind))
            .count()
    }

    pub(crate) async fn log(&self) -> ThreadLog {
        ThreadLog::load_whole(&*self.journal, &Self::thread())
            .await
            .unwrap()
    }
}

/// Approves one call.
pub(crate) fn approve(call: &str) -> Decision {
    Decision::Approve {
        call: call.into(),
        hash: None,
    }
}

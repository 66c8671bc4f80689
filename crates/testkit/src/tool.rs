//! Tools that do as they are told, and remember that they did.

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use rustagents_core::{
    BoxFuture,
    canonical::Canonical,
    tool::{EffectClass, Reconciled, Tool, ToolContext, ToolError, ToolSpec},
};
use serde_json::{Value, json};

type Work =
    dyn Fn(Value, ToolContext) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync;

type Found = dyn Fn(Value, ToolContext) -> BoxFuture<'static, Reconciled> + Send + Sync;

/// What tools did to the outside world, in order. It outlives any process.
#[derive(Clone, Debug, Default)]
pub struct World(Arc<Mutex<Vec<String>>>);

impl World {
    /// A world to which nothing was done.
    pub fn new() -> Self {
        Self::default()
    }

    /// Does something to it.
    pub fn change(&self, what: impl Into<String>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(what.into());
    }

    /// What was done to it.
    pub fn changes(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// A tool whose work is a function. Its arguments are any object.
pub struct FakeTool {
    spec: Arc<ToolSpec>,
    work: Box<Work>,
    found: Option<Box<Found>>,
}

impl std::fmt::Debug for FakeTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FakeTool").field(&self.spec.name).finish()
    }
}

impl FakeTool {
    /// A tool that does `work`.
    pub fn new<F>(
        name: &str,
        effect: EffectClass,
        work: impl Fn(Value, ToolContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        let mut spec = ToolSpec::new(name, "A tool for tests.", json!({ "type": "object" }));
        spec.effect = effect;
        let work = Box::new(move |arguments, context| work(arguments, context).boxed());
        Self {
            spec: Arc::new(spec),
            work,
            found: None,
        }
    }

    /// A tool that notes `name arguments` in `world` and answers `{"ok":true}`.
    pub fn noting(name: &'static str, effect: EffectClass, world: &World) -> Self {
        let world = world.clone();
        Self::new(name, effect, move |arguments, _| {
            world.change(format!("{name} {arguments}"));
            async { Ok(json!({ "ok": true })) }
        })
    }

    /// Finds out by `found` what became of a call that left a trace.
    #[must_use]
    pub fn reconciling<F>(
        mut self,
        found: impl Fn(Value, ToolContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Reconciled> + Send + 'static,
    {
        self.found = Some(Box::new(move |started, context| {
            found(started, context).boxed()
        }));
        self
    }

    /// Changes the declaration.
    #[must_use]
    pub fn declare(mut self, change: impl FnOnce(&mut ToolSpec)) -> Self {
        change(Arc::make_mut(&mut self.spec));
        self
    }
}

impl Tool for FakeTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn call(
        &self,
        arguments: Canonical,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<Value, ToolError>> {
        (self.work)(arguments.value().clone(), context)
    }

    fn reconcile(&self, started: Value, context: ToolContext) -> BoxFuture<'_, Reconciled> {
        match &self.found {
            Some(found) => found(started, context),
            None => Box::pin(async { Reconciled::Lost }),
        }
    }
}

//! Random graphs, as data: what is made of a seed before anything runs.

use rustagents_testkit::simulate::Dice;

/// How deep graphs lie in each other.
const MAX_DEPTH: u32 = 2;

/// The names of the counters of loops.
pub(super) const LOOPS: [&str; 6] = ["loop0", "loop1", "loop2", "loop3", "loop4", "loop5"];

/// The channels that only the graphs of a depth have, from the first one inside.
const OWN: [&str; MAX_DEPTH as usize] = ["own1", "own2"];

#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) name: String,
    /// Its channel that the graph around it has not.
    pub(super) own: Option<&'static str>,
    pub(super) nodes: Vec<NodePlan>,
    pub(super) joins: Vec<(Vec<String>, String)>,
    pub(super) start: Vec<String>,
    /// The state chooses one of these, which then runs first too.
    pub(super) choice: Vec<String>,
    /// The most tasks at the same time, of all and of a group.
    pub(super) concurrency: usize,
    pub(super) group: usize,
}

#[derive(Clone, Debug)]
pub(super) struct NodePlan {
    pub(super) name: String,
    pub(super) work: Work,
    pub(super) way: Way,
    pub(super) policy: Policy,
}

impl Default for Work {
    fn default() -> Self {
        Self::Script(Script::default())
    }
}

#[derive(Clone, Debug)]
pub(super) enum Work {
    Script(Script),
    Shared(Plan),
    Adapted(Plan),
    /// A node that runs a graph in its middle.
    Called(Plan),
}

/// What a node does, in order, and then writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    pub(super) acts: Vec<Act>,
    pub(super) writes: Vec<&'static str>,
    /// The channel that no record keeps, to which it writes.
    pub(super) unkept: Option<String>,
    /// Its outputs are kept, and taken for other tasks of it. No other node has its
    /// number.
    pub(super) cached: Option<u64>,
    /// It always fails, once its acts are done.
    pub(super) fails: bool,
    /// Where it sends the graph around its own, one of these.
    pub(super) parent: Vec<String>,
}

impl Script {
    /// What is taken instead of another run must do nothing but write, and what.
    fn settle(&mut self) {
        if self.fails || !self.parent.is_empty() {
            self.cached = None;
        }
        if self.cached.is_some() {
            self.unkept = None;
            self.acts.retain(|act| matches!(act, Act::Wait | Act::Beat));
            self.writes.retain(|channel| *channel != "messages");
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Wait,
    /// A sign of life, and a wait.
    Beat,
    Step,
    Idempotent,
    /// Several steps of one name at the same time.
    Keyed(u64),
    /// The same work on so many items.
    MapReduce(u64),
    Once,
    /// Several payments at the same time.
    OnceKeyed(u64),
    /// A step of work beside the node.
    Spawned,
    Ask,
    AskTwice,
    /// A question that expires, and what follows is the same either way.
    AskUntil,
    /// A payment in flight while the node asks.
    OnceWhileAsking,
}

#[derive(Clone, Debug)]
pub(super) enum Way {
    Next(Vec<String>),
    /// Back to `again` for some rounds, then on.
    Loop {
        counter: &'static str,
        rounds: u64,
        again: String,
        on: String,
    },
    Routes(Vec<(String, String)>),
    Commands(Vec<String>),
    /// A command that sends up to so many arguments to a node.
    Sends(String, u64),
}

#[allow(
    clippy::struct_excessive_bools,
    reason = "each is one thing that a builder can be told"
)]
#[derive(Clone, Debug, Default)]
pub(super) struct Policy {
    pub(super) deferred: bool,
    pub(super) tries: Option<u32>,
    pub(super) timed: Option<Timed>,
    pub(super) on_error: Option<String>,
    pub(super) optional: bool,
    pub(super) grouped: bool,
    pub(super) ask_before: bool,
    pub(super) ask_after: bool,
    /// A failure of it that the plan does not know of would change the end.
    pub(super) fragile: bool,
    /// The state of the graph inside is kept from call to call.
    pub(super) kept: bool,
}

/// Which time of a try is bounded.
#[derive(Clone, Copy, Debug)]
pub(super) enum Timed {
    Run,
    Idle,
    Both,
}

/// The first and the last node of a part.
struct Ends {
    entry: String,
    exit: String,
}

struct Generator<'a> {
    dice: &'a mut Dice,
    plan: Plan,
    depth: u32,
    /// How many loops there are so far, over all depths.
    loops: &'a mut usize,
    fragile: bool,
}

impl Plan {
    pub(super) fn random(dice: &mut Dice) -> Self {
        let size = 1 + dice.below(8);
        let mut plan = Self::sized(dice, size, 0, &mut 0, false).0;
        if dice.chance(4) {
            plan.write_bulk();
        }
        plan
    }

    /// Lets each node write so much that there will be snapshots.
    fn write_bulk(&mut self) {
        for node in &mut self.nodes {
            match &mut node.work {
                Work::Script(script) => script.writes.push("bulk"),
                Work::Shared(plan) | Work::Adapted(plan) | Work::Called(plan) => plan.write_bulk(),
            }
        }
    }

    /// A plan of about so many nodes, and its last node.
    fn sized(
        dice: &mut Dice,
        size: u64,
        depth: u32,
        loops: &mut usize,
        fragile: bool,
    ) -> (Self, String) {
        let plan = Self {
            name: format!("g{depth}"),
            concurrency: *dice.pick(&[1, 2, 3, 64, 64]),
            group: 1 + dice.index(2),
            ..Self::default()
        };
        let mut generator = Generator {
            dice,
            plan,
            depth,
            loops,
            fragile,
        };
        let ends = generator.part(size);
        if generator.dice.chance(15) {
            let before = generator.part(1);
            generator.link(&before.exit, &ends.entry);
            generator.plan.choice = vec![before.entry, ends.entry];
        } else {
            generator.plan.start.push(ends.entry);
        }
        if generator.dice.chance(15) {
            let beside = generator.part(1);
            generator.plan.start.push(beside.entry);
        }
        generator.keep_from_records();
        (generator.plan, ends.exit)
    }

    /// The channels that no record keeps.
    pub(super) fn unkept(&self) -> impl Iterator<Item = &String> {
        self.nodes.iter().filter_map(|node| match &node.work {
            Work::Script(script) => script.unkept.as_ref(),
            Work::Shared(_) | Work::Adapted(_) | Work::Called(_) => None,
        })
    }
}

impl Generator<'_> {
    fn part(&mut self, size: u64) -> Ends {
        if size <= 1 {
            return self.single();
        }
        let rest = size - 1;
        match self.dice.below(13) {
            2 | 3 => self.diamond(rest),
            4 => self.fan(),
            5 => self.looped(rest),
            6 => self.chosen(rest, false),
            7 => self.chosen(rest, true),
            8 => self.deferred(rest),
            10 if self.depth < MAX_DEPTH => self.child(rest),
            9 => self.failing(),
            11 if self.depth < MAX_DEPTH => self.called_again(rest),
            _ => self.line(size),
        }
    }

    fn single(&mut self) -> Ends {
        let name = self.scripted();
        Ends {
            entry: name.clone(),
            exit: name,
        }
    }

    fn line(&mut self, size: u64) -> Ends {
        let first = self.part(size / 2);
        let second = self.part(size - size / 2);
        self.link(&first.exit, &second.entry);
        Ends {
            entry: first.entry,
            exit: second.exit,
        }
    }

    /// Branches of any length that come together, by a join or by plain edges.
    fn diamond(&mut self, rest: u64) -> Ends {
        let entry = self.scripted();
        let branches = 2 + self.dice.below(2);
        let sizes = |dice: &mut Dice| 1 + dice.below(1 + rest / 2);
        let parts: Vec<Ends> = (0..branches)
            .map(|_| {
                let size = sizes(self.dice);
                self.part(size)
            })
            .collect();
        let exit = self.scripted();
        for part in &parts {
            self.link(&entry, &part.entry);
        }
        if self.dice.chance(60) {
            let sources = parts.into_iter().map(|part| part.exit).collect();
            self.plan.joins.push((sources, exit.clone()));
        } else {
            for part in &parts {
                self.link(&part.exit, &exit);
            }
        }
        Ends { entry, exit }
    }

    /// A node that sends, one that is sent to, and one behind.
    fn fan(&mut self) -> Ends {
        let (worker, exit) = (self.scripted(), self.scripted());
        self.link(&worker, &exit);
        let most = 1 + self.dice.below(4);
        let entry = self.node(Way::Sends(worker, most));
        Ends { entry, exit }
    }

    fn looped(&mut self, rest: u64) -> Ends {
        let Some(counter) = LOOPS.get(*self.loops) else {
            return self.line(rest);
        };
        *self.loops += 1;
        let body = self.part(rest);
        let exit = self.scripted();
        let rounds = 1 + self.dice.below(3);
        let tail = self.node(Way::Loop {
            counter,
            rounds,
            again: body.entry.clone(),
            on: exit.clone(),
        });
        self.link(&body.exit, &tail);
        Ends {
            entry: body.entry,
            exit,
        }
    }

    /// A graph inside this one that is called several times, and keeps its state.
    fn called_again(&mut self, rest: u64) -> Ends {
        let Some(counter) = LOOPS.get(*self.loops) else {
            return self.line(rest);
        };
        *self.loops += 1;
        let fragile = self.fragile;
        let (plan, _) = self.inside(rest.min(3), fragile);
        let entry = self.held(plan);
        self.at(&entry).policy.kept = true;
        let exit = self.scripted();
        let rounds = 2 + self.dice.below(3);
        let tail = self.node(Way::Loop {
            counter,
            rounds,
            again: entry.clone(),
            on: exit.clone(),
        });
        self.link(&entry, &tail);
        Ends { entry, exit }
    }

    /// A node that chooses one of two parts, by a route or by a command.
    fn chosen(&mut self, rest: u64, commands: bool) -> Ends {
        let (one, other) = (self.part(rest / 2), self.part(rest - rest / 2));
        let exit = self.scripted();
        self.link(&one.exit, &exit);
        self.link(&other.exit, &exit);
        let way = if commands {
            Way::Commands(vec![one.entry, other.entry])
        } else {
            Way::Routes(vec![("0".into(), one.entry), ("1".into(), other.entry)])
        };
        let entry = self.node(way);
        Ends { entry, exit }
    }

    /// A part, and beside it a node that waits until nothing else is left.
    fn deferred(&mut self, rest: u64) -> Ends {
        let (entry, side) = (self.scripted(), self.scripted());
        let main = self.part(rest);
        let exit = self.scripted();
        self.at(&side).policy.deferred = true;
        self.link(&entry, &side);
        self.link(&entry, &main.entry);
        self.link(&main.exit, &exit);
        if self.dice.chance(50) {
            self.link(&side, &exit);
        }
        Ends { entry, exit }
    }

    /// A graph inside this one, whose last node may say where this one goes on.
    fn child(&mut self, rest: u64) -> Ends {
        let fragile = self.fragile;
        let (plan, last) = self.inside(rest.min(5), fragile);
        if self.dice.chance(25) {
            return self.leaping(plan, &last);
        }
        let name = if self.dice.chance(30) {
            self.calling(plan)
        } else {
            self.held(plan)
        };
        if !self.fragile && self.dice.chance(30) {
            self.at(&name).policy.tries = Some(3);
        }
        Ends {
            entry: name.clone(),
            exit: name,
        }
    }

    fn inside(&mut self, size: u64, fragile: bool) -> (Plan, String) {
        let depth = self.depth + 1;
        let (mut plan, last) = Plan::sized(self.dice, size, depth, self.loops, fragile);
        let own = OWN.get(depth as usize - 1).unwrap();
        plan.own = Some(own);
        for node in &mut plan.nodes {
            if let Work::Script(script) = &mut node.work {
                script.writes.push(own);
            }
        }
        (plan, last)
    }

    /// A child whose last node names where this graph goes on.
    fn leaping(&mut self, mut plan: Plan, last: &str) -> Ends {
        let (one, other) = (self.part(1), self.part(1));
        let exit = self.scripted();
        self.link(&one.exit, &exit);
        self.link(&other.exit, &exit);
        let targets = vec![one.entry, other.entry];
        let last = plan.nodes.iter_mut().find(|node| node.name == last);
        if let Some(NodePlan {
            work: Work::Script(script),
            ..
        }) = last
        {
            script.parent.clone_from(&targets);
        }
        let name = self.held(plan);
        self.at(&name).way = Way::Commands(targets);
        Ends { entry: name, exit }
    }

    /// A node that holds `plan`.
    fn held(&mut self, plan: Plan) -> String {
        let work = if self.dice.chance(50) {
            Work::Shared(plan)
        } else {
            Work::Adapted(plan)
        };
        let name = self.node(Way::Next(Vec::new()));
        let kept = self.plan.nodes.len().is_multiple_of(2);
        let node = self.at(&name);
        node.work = work;
        node.policy = Policy {
            fragile: node.policy.fragile,
            kept,
            ..Policy::default()
        };
        name
    }

    /// A node that runs `plan` in its middle.
    fn calling(&mut self, plan: Plan) -> String {
        let name = self.held(plan);
        let node = self.at(&name);
        node.policy.kept = false;
        if let Work::Shared(plan) | Work::Adapted(plan) = std::mem::take(&mut node.work) {
            node.work = Work::Called(plan);
        }
        name
    }

    /// A node, or a child, that always fails: its failure is handled, or counts for
    /// nothing, or seldom is the end.
    fn failing(&mut self) -> Ends {
        let name = if self.depth < MAX_DEPTH && self.dice.chance(30) {
            let (mut plan, last) = self.inside(2, true);
            let last = plan.nodes.iter_mut().find(|node| node.name == last);
            if let Some(NodePlan {
                work: Work::Script(script),
                ..
            }) = last
            {
                script.fails = true;
            }
            self.held(plan)
        } else {
            let name = self.scripted();
            if let Work::Script(script) = &mut self.at(&name).work {
                script.fails = true;
            }
            name
        };
        let exit = self.scripted();
        self.link(&name, &exit);
        let tries = tries(self.dice, 50);
        let end = self.dice.below(10);
        let handler = (end < 5).then(|| self.scripted());
        if let Some(handler) = &handler {
            self.link(handler, &exit);
        }
        let policy = &mut self.at(&name).policy;
        policy.fragile = true;
        policy.timed = None;
        policy.tries = tries;
        policy.on_error = handler;
        policy.optional = (5..9).contains(&end);
        Ends { entry: name, exit }
    }

    /// Lets some nodes write what no record keeps, each to a channel of its own. Of one
    /// that is sent to, two tasks of a step may: then the step is refused.
    fn keep_from_records(&mut self) {
        let nodes = self.plan.nodes.iter();
        let sent_to = nodes.filter_map(|node| match &node.way {
            Way::Sends(target, _) => Some(target.clone()),
            _ => None,
        });
        let sent_to: Vec<_> = sent_to.collect();
        for node in &mut self.plan.nodes {
            let percent = if sent_to.contains(&node.name) { 5 } else { 25 };
            let may = self.dice.chance(percent);
            if let Work::Script(script) = &mut node.work {
                script.unkept = may.then(|| format!("unkept-{}-{}", self.plan.name, node.name));
                script.settle();
            }
        }
    }

    fn scripted(&mut self) -> String {
        self.node(Way::Next(Vec::new()))
    }

    fn node(&mut self, way: Way) -> String {
        let name = format!("n{}", self.plan.nodes.len());
        let node = NodePlan {
            name: name.clone(),
            work: Work::Script(self.script()),
            way,
            policy: self.policy(),
        };
        self.plan.nodes.push(node);
        name
    }

    fn script(&mut self) -> Script {
        let acts = (0..self.dice.below(4)).map(|_| self.act()).collect();
        let writes = (0..=self.dice.below(3)).map(|_| self.channel()).collect();
        let cached = self.dice.chance(12).then(|| self.dice.roll());
        Script {
            acts,
            writes,
            cached,
            ..Script::default()
        }
    }

    fn act(&mut self) -> Act {
        let some = 1 + self.dice.below(3);
        match self.dice.below(28) {
            0..6 => Act::Wait,
            6..8 => Act::Beat,
            8..11 => Act::Step,
            11 => Act::Idempotent,
            12..14 => Act::Keyed(some),
            14..17 => Act::Once,
            17..19 => Act::OnceKeyed(some),
            19..21 => Act::Spawned,
            21 => Act::Ask,
            22 => Act::AskTwice,
            23 | 24 => Act::AskUntil,
            25 | 26 => Act::MapReduce(some),
            _ => Act::OnceWhileAsking,
        }
    }

    /// A channel to write to; seldom one that two tasks of a step may not write.
    fn channel(&mut self) -> &'static str {
        const SAFE: [&str; 11] = [
            "log", "log", "set", "lo", "hi", "sum", "topic", "fold", "gate", "messages", "log",
        ];
        const RISKY: [&str; 4] = ["last", "flash", "log=", "log-"];
        if self.dice.chance(2) {
            return self.dice.pick::<&str>(&RISKY);
        }
        self.dice.pick::<&str>(&SAFE)
    }

    fn policy(&mut self) -> Policy {
        let dice = &mut *self.dice;
        Policy {
            tries: tries(dice, 25),
            timed: timed(dice).filter(|_| !self.fragile),
            grouped: dice.chance(20),
            ask_before: dice.chance(3),
            ask_after: dice.chance(3),
            fragile: self.fragile,
            ..Policy::default()
        }
    }

    fn at(&mut self, name: &str) -> &mut NodePlan {
        let nodes = self.plan.nodes.iter_mut();
        nodes.into_iter().find(|node| node.name == name).unwrap()
    }

    fn link(&mut self, from: &str, to: &str) {
        if let Way::Next(targets) = &mut self.at(from).way {
            targets.push(to.to_owned());
        }
    }
}

fn timed(dice: &mut Dice) -> Option<Timed> {
    let timed = *dice.pick(&[Timed::Run, Timed::Idle, Timed::Both]);
    dice.chance(15).then_some(timed)
}

/// Two tries or three, where there are more than one.
fn tries(dice: &mut Dice, percent: u64) -> Option<u32> {
    let tries = *dice.pick(&[2, 3]);
    dice.chance(percent).then_some(tries)
}

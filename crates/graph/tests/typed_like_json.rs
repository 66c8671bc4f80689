//! A typed state and a JSON state with the same reducers come to the same.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*};
use rustagents_core::{ids::MessageId, journal::JournalError, message::Message};
use rustagents_graph::{
    GraphState, Messages, State,
    state::{
        ChannelName, ChannelSpec, Delta, ReduceError, TaskWrites, Written,
        field::{Arrivals, Distinct},
    },
};
use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq, GraphState)]
struct All {
    overwrite: String,
    maybe: Option<u8>,
    #[channel(append)]
    append: Vec<i64>,
    #[channel(messages)]
    messages: Messages,
    #[channel(union)]
    sorted: BTreeSet<u8>,
    #[channel(union)]
    distinct: Distinct<Vec<u8>>,
    #[channel(min)]
    min: Option<i64>,
    #[channel(max)]
    max: Option<f64>,
    #[channel(counter)]
    signed: i64,
    #[channel(counter)]
    float: f64,
    #[channel(topic)]
    topic: Vec<u8>,
    #[channel(ephemeral)]
    ephemeral: Option<u8>,
    #[channel(untracked)]
    untracked: u8,
    #[channel(barrier("a", "b", "c"))]
    barrier: Arrivals,
    #[channel(reduce = joined)]
    custom: String,
}

#[allow(
    clippy::ptr_arg,
    clippy::needless_pass_by_value,
    reason = "the form of a reducer"
)]
fn joined(current: &String, write: String) -> Result<String, String> {
    match write.as_str() {
        "no" => Err("it says no".into()),
        write => Ok(format!("{current}{write}")),
    }
}

type Deltas = Vec<(ChannelName, Delta)>;

/// What one step of tasks comes to, as the scheduler does it; what ends by itself,
/// by name.
fn step<S: GraphState>(
    state: &S,
    tasks: &[Vec<(&str, Written)>],
) -> Result<Deltas, (String, ReduceError)> {
    let mut gathered: Vec<(ChannelName, TaskWrites)> = Vec::new();
    for (task, writes) in tasks.iter().enumerate() {
        for (channel, written) in writes {
            if state.check(channel, written).is_err() {
                continue;
            }
            let place = gathered.iter().position(|(name, _)| name == channel);
            let place = place.unwrap_or_else(|| {
                gathered.push(((*channel).to_owned().into(), TaskWrites::new()));
                gathered.len() - 1
            });
            gathered[place].1.push((task, written.clone()));
        }
    }
    let mut deltas = Vec::new();
    for (channel, writes) in &gathered {
        let reduced = state.reduce(channel, writes.clone(), &mut deltas);
        reduced.map_err(|error| (channel.to_string(), error))?;
    }
    let is_written = |channel: &str| gathered.iter().any(|(name, _)| name == channel);
    let mut settled = Vec::new();
    state.settle(&is_written, &mut settled);
    settled.sort_by(|(a, _), (b, _)| a.cmp(b));
    deltas.append(&mut settled);
    Ok(deltas)
}

#[allow(clippy::unnecessary_wraps, reason = "the form of what finds messages")]
fn find(id: &MessageId) -> Result<std::sync::Arc<Message>, JournalError> {
    Ok(Message::user(id.clone(), format!("says {id}")).into())
}

fn apply<S: GraphState>(state: &mut S, deltas: &Deltas) {
    for (channel, delta) in deltas {
        state.apply(channel, delta, &mut find).unwrap();
    }
}

/// What a JSON state says, where null is what the typed one has at first, and what
/// has no order there has one.
fn aligned(json: Value) -> BTreeMap<String, Value> {
    let empty = All::empty(&[]).to_json();
    let Value::Object(channels) = json else {
        panic!("a state is an object");
    };
    let aligned = channels.into_iter().map(|(name, value)| {
        let value = match value {
            Value::Null => empty[&name].clone(),
            Value::Array(mut items) if name == "sorted" => {
                items.sort_by_key(Value::as_u64);
                Value::Array(items)
            }
            value => value,
        };
        (name, value)
    });
    aligned.collect()
}

/// The same of the changes that make a state: those to what it is anyway are none.
fn aligned_deltas(deltas: Deltas) -> BTreeMap<String, Delta> {
    let empty = All::empty(&[]).to_json();
    let mut aligned = BTreeMap::new();
    for (channel, delta) in deltas {
        let delta = match delta {
            Delta::Set(value) if value == empty[&*channel] => continue,
            Delta::Append(mut items) if channel == "sorted" => {
                items.sort_by_key(Value::as_u64);
                Delta::Append(items)
            }
            delta => delta,
        };
        aligned.insert(channel.into_owned(), delta);
    }
    aligned
}

fn value(channel: &'static str, number: u8) -> Value {
    match channel {
        "overwrite" => format!("v{number}").into(),
        "custom" => if number == 15 { "no" } else { "x" }.into(),
        "distinct" => json!([number % 3]),
        "max" | "float" => (f64::from(number) / 4.0).into(),
        "barrier" => ["a", "b", "c"][usize::from(number) % 3].into(),
        "min" | "signed" => (i64::from(number) - 8).into(),
        _ => number.into(),
    }
}

fn written(channel: &'static str, kind: u8, numbers: &[u8]) -> Written {
    let number = numbers[0];
    let id = |number: &u8| MessageId::numbered(u64::from(number % 6) + 1);
    let items = || {
        numbers
            .iter()
            .map(|number| value(channel, *number))
            .collect()
    };
    match (channel, kind) {
        (_, 0) => Written::Clear,
        ("messages", 1) => Written::Remove(vec![id(&number)]),
        ("messages", 2) => Written::Swap(id(&number), id(numbers.last().unwrap())),
        ("messages", _) => Written::Messages(numbers.iter().map(id).collect()),
        ("append" | "sorted" | "distinct" | "topic", 1) => Written::Replace(Value::Array(items())),
        ("append" | "sorted" | "distinct" | "topic" | "barrier", 2..5) => Written::Append(items()),
        (_, 1) => Written::Replace(value(channel, number)),
        (_, _) => Written::Set(value(channel, number)),
    }
}

fn writes() -> impl Strategy<Value = Vec<(&'static str, Written)>> {
    let names = All::declared();
    let names: Vec<&'static str> = names
        .into_iter()
        .map(|spec| match spec.name {
            ChannelName::Borrowed(name) => name,
            ChannelName::Owned(name) => panic!("{name} is borrowed"),
        })
        .collect();
    let write = (
        proptest::sample::select(names),
        0_u8..16,
        vec(0_u8..16, 1..4),
    );
    let write = write.prop_map(|(name, kind, numbers)| (name, written(name, kind, &numbers)));
    vec(write, 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_typed_state_comes_to_what_a_json_state_comes_to(
        steps in vec(vec(writes(), 1..4), 1..10),
    ) {
        let specs: Vec<ChannelSpec> = All::declared();
        let (mut typed, mut json) = (All::empty(&specs), State::empty(&specs));
        for tasks in &steps {
            for (channel, written) in tasks.iter().flatten() {
                let (a, b) = (typed.check(channel, written), json.check(channel, written));
                prop_assert_eq!(a.is_ok(), b.is_ok(), "{} {:?}", channel, written);
            }
            let deltas = step(&typed, tasks);
            prop_assert_eq!(&deltas, &step(&json, tasks));
            let Ok(deltas) = deltas else {
                continue;
            };
            apply(&mut typed, &deltas);
            apply(&mut json, &deltas);
            prop_assert_eq!(aligned(typed.to_json()), aligned(json.to_json()));
            prop_assert_eq!(typed.barrier.is_complete(), json.is_complete("barrier"));
            prop_assert_eq!(
                aligned_deltas(typed.deltas()),
                aligned_deltas(json.deltas())
            );
            let mut again = All::empty(&specs);
            apply(&mut again, &typed.deltas());
            again.untracked = typed.untracked;
            prop_assert_eq!(&again, &typed);
        }
    }
}

#[test]
fn a_barrier_is_complete_for_the_step_after_the_last_name_and_no_longer() {
    let mut state = All::empty(&[]);
    let mut take = |names: &[&str]| {
        let arrives = |name: &&str| vec![("barrier", Written::Set((*name).into()))];
        let tasks: Vec<_> = names.iter().map(arrives).collect();
        let deltas = step(&state, &tasks).unwrap();
        apply(&mut state, &deltas);
        (state.barrier.is_complete(), state.barrier.names().to_vec())
    };
    assert_eq!(take(&["c", "a"]), (false, vec!["c".into(), "a".into()]));
    assert_eq!(take(&["a"]), (false, vec!["c".into(), "a".into()]));
    assert!(take(&["b"]).0);
    assert_eq!(take(&["b"]), (false, vec!["b".into()]), "the next round");
    assert!(take(&["a", "c"]).0);
    assert_eq!(take(&[]), (false, vec![]));
}

#[test]
fn what_no_field_takes_is_refused_with_the_reason() {
    let state = All::empty(&[]);
    let refused = |channel: &str, written: Written| {
        let error = state.check(channel, &written).unwrap_err();
        error.to_string()
    };
    let cases = [
        ("lost", Written::Set(1.into()), "there is no channel `lost`"),
        (
            "overwrite",
            Written::Set(1.into()),
            "channel `overwrite` takes `String`: invalid type: integer `1`, expected a string",
        ),
        (
            "append",
            Written::Append(vec![1.into(), "x".into()]),
            "channel `append` takes `i64`: invalid type: string \"x\", expected i64",
        ),
        (
            "sorted",
            Written::Replace(json!([1, 300])),
            "channel `sorted` takes `u8`: invalid value: integer `300`, expected u8",
        ),
        (
            "ephemeral",
            Written::Set(Value::Null),
            "channel `ephemeral` takes `u8`: invalid type: null, expected u8",
        ),
        (
            "barrier",
            Written::Set("d".into()),
            "channel `barrier` takes the names `a`, `b`, `c`: nobody waits for `d`",
        ),
        (
            "barrier",
            Written::Replace(json!(["a"])),
            "channel `barrier` takes names",
        ),
        (
            "messages",
            Written::Set("hi".into()),
            "channel `messages` takes messages",
        ),
    ];
    for (channel, written, expected) in cases {
        assert_eq!(refused(channel, written), expected);
    }
}

#[test]
fn a_recorded_change_that_does_not_fit_names_channel_and_type() {
    let mut state = All::empty(&[]);
    let mut corrupt = |channel: &str, delta: Delta| {
        let error = state.apply(channel, &delta, &mut find).unwrap_err();
        assert!(matches!(error, JournalError::Corrupt { .. }), "{error:?}");
        error.to_string()
    };
    let cases = [
        (
            "append",
            Delta::Append(vec!["x".into()]),
            "channel `append` cannot be read: a recorded change is no `i64`: invalid type: string \"x\", expected i64",
        ),
        (
            "maybe",
            Delta::Set("x".into()),
            "channel `maybe` cannot be read: a recorded change is no `Option<u8>`: invalid type: string \"x\", expected u8",
        ),
        (
            "overwrite",
            Delta::Append(vec![]),
            "channel `overwrite` cannot be read: a recorded change does not fit its reducer",
        ),
        (
            "signed",
            Delta::Add(serde_json::Number::from_f64(0.5).unwrap()),
            "channel `signed` cannot be read: a recorded change is no `i64`: invalid type: floating point `0.5`, expected i64",
        ),
        (
            "barrier",
            Delta::Append(vec![1.into()]),
            "channel `barrier` cannot be read: a recorded change is no `String`: invalid type: integer `1`, expected a string",
        ),
        (
            "messages",
            Delta::Set(1.into()),
            "channel `messages` cannot be read: a recorded change does not fit its reducer",
        ),
    ];
    for (channel, delta, expected) in cases {
        assert_eq!(corrupt(channel, delta), expected);
    }
    assert_eq!(state, All::empty(&[]), "nothing was changed");
}

#[test]
fn a_sum_that_its_type_does_not_hold_is_refused() {
    #[derive(Clone, Debug, GraphState)]
    struct Sums {
        #[channel(counter)]
        signed: i64,
        #[channel(counter)]
        unsigned: u64,
        #[channel(counter)]
        float: f64,
    }
    let state = Sums {
        signed: i64::MAX,
        unsigned: u64::MAX,
        float: f64::MAX,
    };
    let one = Written::Set(1.into());
    let largest = Written::Set(f64::MAX.into());
    for (channel, written) in [("signed", &one), ("unsigned", &one), ("float", &largest)] {
        let (refused, error) = step(&state, &[vec![(channel, written.clone())]]).unwrap_err();
        assert_eq!(refused, channel);
        assert!(matches!(error, ReduceError::Refused { task: 0, .. }));
        assert!(
            error.to_string().ends_with("are too large to be added"),
            "{error}"
        );
    }
    assert!(state.check("unsigned", &Written::Set((-1).into())).is_err());
}

#[test]
fn what_a_reducer_makes_must_have_a_form_that_is_read_back() {
    #[derive(Clone, Debug, GraphState)]
    struct Ratio {
        #[channel(reduce = divide)]
        ratio: f64,
    }

    #[allow(
        clippy::trivially_copy_pass_by_ref,
        clippy::unnecessary_wraps,
        reason = "the form of a reducer"
    )]
    fn divide(current: &f64, by: f64) -> Result<f64, String> {
        Ok(current / by)
    }

    let tasks = [vec![("ratio", Written::Set(0.0.into()))]];
    let (_, error) = step(&Ratio::empty(&[]), &tasks).unwrap_err();
    assert_eq!(
        error.to_string(),
        "what the reducer makes cannot be recorded: invalid type: null, expected f64"
    );
}

/// A channel; what it is written before; the writes of two tasks; what changes then.
const CHANGES: &str = r#"
["overwrite", {"set": "a"}, [[{"set": "b"}, {"set": "c"}], []], [{"set": "c"}]]
["overwrite", {"set": "a"}, [[{"set": "b"}], [{"replace": "c"}]], [{"set": "c"}]]
["append", {"set": 1}, [[{"set": 2}], [{"append": [3, 3]}]], [{"append": [2]}, {"append": [3, 3]}]]
["append", {"set": 1}, [[{"replace": [7]}], ["clear", {"set": 3}]], ["clear", {"append": [7]}]]
["distinct", {"set": [1]}, [[{"append": [[1], [2]]}], [{"append": [[2], [3]]}]], [{"append": [[2]]}, {"append": [[3]]}]]
["distinct", {"set": [1]}, [["clear", {"set": [1]}], [{"set": [1]}]], ["clear", {"append": [[1]]}]]
["sorted", {"set": 1}, [[{"replace": [2, 2, 1]}], []], ["clear", {"append": [2, 1]}]]
["min", {"set": 5}, [[{"set": 6}, {"set": 4}], [{"set": 4}, {"set": 3}]], [{"set": 4}, {"set": 3}]]
["max", {"set": 0.5}, [[{"set": 0.25}], [{"set": 0.75}]], [{"set": 0.75}]]
["signed", {"set": 5}, [[{"set": 1}], [{"set": -2}]], [{"add": 1}, {"add": -2}]]
["signed", {"set": 5}, [["clear", {"set": 1}], []], ["clear", {"add": 1}]]
["topic", {"set": 1}, [[{"set": 2}], [{"set": 3}]], ["clear", {"append": [2]}, {"append": [3]}]]
["topic", {"set": 1}, [[], []], ["clear"]]
["ephemeral", {"set": 1}, [[{"set": 2}], []], [{"set": 2}]]
["ephemeral", {"set": 1}, [[], []], ["clear"]]
["untracked", {"set": 1}, [[{"set": 2}], []], [{"set": 2}]]
["barrier", {"append": ["a", "b"]}, [[{"set": "b"}], [{"set": "c"}]], [{"append": ["c"]}]]
["barrier", {"append": ["a", "b", "c"]}, [[{"set": "b"}], []], ["clear", {"append": ["b"]}]]
["custom", {"set": "a"}, [[{"set": "b"}], [{"set": "c"}]], [{"set": "abc"}]]
["custom", {"set": "a"}, [["clear", {"set": "b"}], [{"set": "c"}]], [{"set": "bc"}]]
["custom", {"set": "a"}, [[{"set": "b"}, "clear"], []], ["clear"]]
"#;

#[test]
fn what_writes_of_two_tasks_come_to() {
    for line in CHANGES.trim().lines() {
        let case: (String, Written, [Vec<Written>; 2], Vec<Delta>) =
            serde_json::from_str(line).unwrap();
        let (channel, before, tasks, expected) = case;
        let (mut typed, mut json) = (All::empty(&[]), State::empty(&All::declared()));
        let first = step(&typed, &[vec![(&*channel, before)]]).unwrap();
        apply(&mut typed, &first);
        apply(&mut json, &first);
        let writes = |task: Vec<Written>| task.into_iter().map(|w| (&*channel, w)).collect();
        let tasks: [Vec<_>; 2] = tasks.map(writes);
        let deltas = step(&typed, &tasks).unwrap();
        assert_eq!(step(&json, &tasks).unwrap(), deltas, "{line}");
        let deltas = deltas.into_iter().map(|(_, delta)| delta);
        assert_eq!(deltas.collect::<Vec<_>>(), expected, "{line}");
    }
    for write in [Written::Set as fn(Value) -> Written, Written::Replace] {
        let two = |value: &str| vec![("overwrite", write(value.into()))];
        let (_, error) = step(&All::empty(&[]), &[two("a"), two("b")]).unwrap_err();
        assert_eq!(error, ReduceError::Concurrent(0, 1));
    }
}

//! What a configuration declares.

use std::{path::Path, time::Duration};

use rustagents_config::{
    CommandDeclaration, CommandInput, CommandOutput, CommandWord, Config, EventsKept,
    HeaderDeclaration, HeaderText, HttpDeclaration, Position, SqlDeclaration, ToolDeclaration,
    ToolKind,
};
use rustagents_core::{
    budget::Limits,
    tool::{Approval, EffectClass},
};
use serde_json::json;

const SUPPORT: &str = r#"[models]
default = "scripted:script.toml"
alpha = "other:1"

[data.orders]
seed = "orders.sql"

[tools.lookup_order]
kind = "sql"
data = "orders"
description = "Find an order by its number."
arguments = { type = "object", required = ["order"], additionalProperties = false, properties = { order = { type = "string", pattern = "^[A-Z]-[0-9]{4}$" } } }
sql = "SELECT id, paid_cents, status, claim FROM orders WHERE id = :order"

[tools.refund]
kind = "sql"
data = "orders"
effect = "once"
approval = "ask"
ask = "Refund {{ amount_cents }} cents for {{ order }}"
description = "Pay the full price of a paid order back."
arguments = { type = "object", properties = { order = { type = "string" }, amount_cents = { type = "integer", minimum = 1 } } }
sql = "UPDATE orders SET status = 'refunded' WHERE id = :order AND paid_cents = :amount_cents RETURNING id"
rows = 1
timeout = "5s"
max_output_bytes = 16384

[limits]
steps = 20
driven = "10m"
"#;

fn sql(tool: &ToolDeclaration) -> &SqlDeclaration {
    let ToolKind::Sql(sql) = &tool.kind else {
        unreachable!("not a statement: {tool:?}");
    };
    sql
}

fn support() -> Config {
    Config::parse(Path::new("/shop/rustagents.toml"), SUPPORT).unwrap()
}

#[test]
fn everything_is_read_in_the_order_of_the_file() {
    let config = support();
    assert_eq!(config.path, Path::new("/shop/rustagents.toml"));
    assert_eq!(config.folder, Path::new("/shop"));
    let models: Vec<_> = config
        .models
        .iter()
        .map(|model| model.alias.as_str())
        .collect();
    assert_eq!(models, ["default", "alpha"]);
    assert_eq!(config.models[0].spec, "scripted:script.toml");
    assert_eq!(config.data[0].seed, Path::new("/shop/orders.sql"));
    let tools: Vec<_> = config
        .tools
        .iter()
        .map(|tool| tool.spec.name.as_str())
        .collect();
    assert_eq!(tools, ["lookup_order", "refund"]);
    assert_eq!(
        config.limits,
        Limits {
            steps: 20,
            ..Limits::default()
        }
    );
}

#[test]
fn a_tool_that_says_nothing_about_its_effect_only_reads() {
    let config = support();
    let lookup = &config.tools[0];
    assert_eq!(lookup.spec.effect, EffectClass::Repeatable);
    assert_eq!(
        (
            lookup.spec.approval,
            sql(lookup).rows,
            lookup.ask.as_deref()
        ),
        (None, None, None)
    );
    assert_eq!(lookup.spec.timeout, Duration::from_secs(30));
    assert_eq!(lookup.spec.max_output_bytes, 64 << 10);
    assert_eq!(
        lookup.spec.input_schema["properties"]["order"]["pattern"],
        "^[A-Z]-[0-9]{4}$"
    );
    assert_eq!(
        lookup.spec.input_schema["additionalProperties"],
        json!(false)
    );
}

#[test]
fn a_tool_keeps_what_it_says() {
    let config = support();
    let refund = &config.tools[1];
    assert_eq!(refund.spec.effect, EffectClass::Once);
    assert_eq!(refund.spec.approval, Some(Approval::Ask));
    assert_eq!(sql(refund).rows, Some(1));
    assert_eq!(refund.spec.timeout, Duration::from_secs(5));
    assert_eq!(refund.spec.max_output_bytes, 16384);
    assert_eq!(
        refund.spec.input_schema["properties"]["amount_cents"]["minimum"],
        json!(1)
    );
}

/// A request whose table has `more` as its last lines.
fn request(more: &str) -> ToolDeclaration {
    let source = format!(
        r#"[tools.order_status]
kind = "http"
description = "Where an order is."
arguments = {{ type = "object" }}
url = "https://api.example.com/orders"
{more}
"#
    );
    let path = Path::new("/shop/rustagents.toml");
    Config::parse(path, &source).unwrap().tools.remove(0)
}

fn http(tool: ToolDeclaration) -> HttpDeclaration {
    let ToolKind::Http(http) = tool.kind else {
        unreachable!("not a request: {tool:?}");
    };
    http
}

#[test]
fn a_request_that_says_nothing_only_gets() {
    let tool = request("");
    assert_eq!(tool.spec.effect, EffectClass::Repeatable);
    assert_eq!(tool.does_at, Position { line: 5, column: 7 });
    let expected = HttpDeclaration {
        method: "GET",
        url: "https://api.example.com/orders".into(),
        hosts: Vec::new(),
        headers: Vec::new(),
        private: false,
        redirects: None,
    };
    assert_eq!(http(tool), expected);
}

#[test]
fn a_request_keeps_what_it_says() {
    let tool = request(
        r#"method = "HEAD"
hosts = ["api.example.com", "files.example.com:8443"]
private = true
redirects = 10
headers.x-shop = "lamps"
headers.Authorization = { env = "ORDERS_TOKEN", prefix = "Bearer " }
headers.x-key = { env = "KEY" }"#,
    );
    let header = |name: &str, text, line, column| HeaderDeclaration {
        name: name.into(),
        text,
        at: Position { line, column },
    };
    let environment = |variable: &str, prefix: &str| HeaderText::Environment {
        variable: variable.into(),
        prefix: prefix.into(),
    };
    let expected = HttpDeclaration {
        method: "HEAD",
        url: "https://api.example.com/orders".into(),
        hosts: vec!["api.example.com".into(), "files.example.com:8443".into()],
        headers: vec![
            header("x-shop", HeaderText::Plain("lamps".into()), 10, 18),
            header(
                "Authorization",
                environment("ORDERS_TOKEN", "Bearer "),
                11,
                25,
            ),
            header("x-key", environment("KEY", ""), 12, 17),
        ],
        private: true,
        redirects: Some(10),
    };
    assert_eq!(http(tool), expected);
}

#[test]
fn a_request_that_may_change_something_does_so_once_unless_it_says_otherwise() {
    for (method, effect) in [
        ("GET", EffectClass::Repeatable),
        ("HEAD", EffectClass::Repeatable),
        ("POST", EffectClass::Once),
        ("PUT", EffectClass::Once),
        ("PATCH", EffectClass::Once),
        ("DELETE", EffectClass::Once),
    ] {
        let line = format!("method = \"{method}\"");
        assert_eq!(request(&line).spec.effect, effect, "{method}");
        let said = request(&format!("{line}\neffect = \"idempotent\""));
        assert_eq!(said.spec.effect, EffectClass::Idempotent);
    }
}

#[test]
fn declarations_know_their_place() {
    let config = support();
    assert_eq!(
        config.models[0].at,
        Position {
            line: 2,
            column: 11
        }
    );
    assert_eq!(config.data[0].at, Position { line: 6, column: 8 });
    let refund = &config.tools[1];
    assert_eq!(
        refund.at,
        Position {
            line: 15,
            column: 8
        }
    );
    assert_eq!(
        refund.does_at,
        Position {
            line: 23,
            column: 7
        }
    );
}

#[test]
fn which_events_are_kept_is_read() {
    let parse = |text: &str| Config::parse(Path::new("/shop/rustagents.toml"), text).unwrap();
    assert_eq!(parse("").events, EventsKept::default());
    assert!(!parse("[events]\nlast = 5").events.keep);
    let all = "[events]\nkeep = true\ndeltas = true\nlast = 1000\nage = \"720h\"";
    let expected = EventsKept {
        keep: true,
        deltas: true,
        last: Some(1_000),
        age: Some(Duration::from_hours(720)),
    };
    assert_eq!(parse(all).events, expected);
}

#[test]
fn an_empty_file_declares_nothing() {
    let config = Config::parse(Path::new("/shop/rustagents.toml"), "").unwrap();
    assert!(config.models.is_empty() && config.data.is_empty() && config.tools.is_empty());
    assert_eq!(config.limits, Limits::default());
}

#[test]
fn schemas_may_be_tables_of_their_own_and_hold_every_json_value() {
    let source = r#"
        data.d.seed = "/abs/d.sql"
        [tools.t]
        kind = "sql"
        data = "d"
        description = "x"
        sql = "SELECT 1"
        [tools.t.arguments]
        type = "object"
        default = [1, -2, 0x10, 1.5, true, "x", { a = [] }]
    "#;
    let config = Config::parse(Path::new("/shop/rustagents.toml"), source).unwrap();
    let expected = json!([1, -2, 16, 1.5, true, "x", {"a": []}]);
    assert_eq!(config.tools[0].spec.input_schema["default"], expected);
    assert_eq!(config.data[0].seed, Path::new("/abs/d.sql"));
}

#[test]
fn durations_and_sizes_have_units_or_are_plain_numbers() {
    let driven = |text: &str| {
        let source = format!("limits.driven = {text}");
        Config::parse(Path::new("x.toml"), &source)
            .unwrap()
            .limits
            .driven
    };
    for (text, milliseconds) in [
        ("\"250ms\"", 250),
        ("\"5s\"", 5_000),
        ("\"10m\"", 600_000),
        ("\"2h\"", 7_200_000),
        ("1500", 1_500),
        ("\"8784h\"", 8784 * 3_600_000),
    ] {
        assert_eq!(driven(text), Duration::from_millis(milliseconds), "{text}");
    }

    let size = |text: &str| {
        let source = SUPPORT.replace("16384", text);
        Config::parse(Path::new("x.toml"), &source).unwrap().tools[1]
            .spec
            .max_output_bytes
    };
    for (text, bytes) in [
        ("\"100B\"", 100),
        ("\"16KB\"", 16_000),
        ("\"16KiB\"", 16_384),
        ("\"2MB\"", 2_000_000),
        ("\"2MiB\"", 2 << 20),
        ("\"4MiB\"", 4 << 20),
        ("512", 512),
    ] {
        assert_eq!(size(text), bytes, "{text}");
    }
}

/// The one tool of a file with these lines, and its command.
fn command(lines: &str) -> (ToolDeclaration, CommandDeclaration) {
    let source = format!(
        "[tools.convert]\nkind = \"command\"\ndescription = \"x\"\n\
         arguments = {{ type = \"object\" }}\n{lines}"
    );
    let config = Config::parse(Path::new("/shop/rustagents.toml"), &source).unwrap();
    let tool = config.tools[0].clone();
    let ToolKind::Command(command) = tool.kind.clone() else {
        unreachable!("not a command: {tool:?}");
    };
    (tool, command)
}

#[test]
fn a_command_that_says_nothing_more_changes_something_and_reads_nothing() {
    let (tool, command) = command("command = [\"convert\"]");
    assert_eq!(tool.spec.effect, EffectClass::Once);
    let place = Position {
        line: 5,
        column: 11,
    };
    assert_eq!(tool.does_at, place);
    let expected = CommandDeclaration {
        command: vec![CommandWord::Always("convert".into())],
        stdin: CommandInput::Nothing,
        folder: "/shop".into(),
        env: None,
        output: CommandOutput::Text,
    };
    assert_eq!(command, expected);
}

#[test]
fn a_command_keeps_what_it_says() {
    let lines = r#"
        command = ["convert", ["--size", "{{ size }}"], "--", "{{ file }}", ""]
        stdin = "arguments"
        folder = "work"
        env = ["PATH", "MODE=fast"]
        output = "json"
        effect = "repeatable"
        timeout = "5s"
    "#;
    let (tool, command) = command(lines);
    assert_eq!(tool.spec.effect, EffectClass::Repeatable);
    assert_eq!(tool.spec.timeout, Duration::from_secs(5));
    let always = |word: &str| CommandWord::Always(word.into());
    let expected = CommandDeclaration {
        command: vec![
            always("convert"),
            CommandWord::Optional(vec!["--size".into(), "{{ size }}".into()]),
            always("--"),
            always("{{ file }}"),
            always(""),
        ],
        stdin: CommandInput::Arguments,
        folder: "/shop/work".into(),
        env: Some(vec!["PATH".into(), "MODE=fast".into()]),
        output: CommandOutput::Json,
    };
    assert_eq!(command, expected);
}

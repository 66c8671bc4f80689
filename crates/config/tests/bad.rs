//! What a configuration cannot say: message, place, code and hint.

use std::path::Path;

use rustagents_config::{Config, ConfigError};
use rustagents_core::{
    Coded,
    code::Code::{self, ConfigSyntax, ConfigValue, ToolDeclaration},
};

/// A source, and what is said about it.
struct Case {
    source: String,
    code: Code,
    message: &'static str,
    place: (usize, usize),
    hint: Option<&'static str>,
}

fn case(
    source: impl Into<String>,
    code: Code,
    message: &'static str,
    place: (usize, usize),
    hint: impl Into<Option<&'static str>>,
) -> Case {
    Case {
        source: source.into(),
        code,
        message,
        place,
        hint: hint.into(),
    }
}

/// A file with one good tool, whose line 9 is `line`.
fn with_tool(line: &str) -> String {
    format!(
        r#"[data.orders]
seed = "orders.sql"
[tools.refund]
kind = "sql"
data = "orders"
description = "Pay back."
arguments = {{ type = "object" }}
sql = "SELECT 1"
{line}
"#
    )
}

/// The same file, with `from` replaced by `to`.
fn with_changed_tool(from: &str, to: &str) -> String {
    let source = with_tool("");
    assert!(source.contains(from), "{from}");
    source.replacen(from, to, 1)
}

fn check(cases: Vec<Case>) {
    let path = Path::new("shop/rustagents.toml");
    for Case {
        source,
        code,
        message,
        place,
        hint,
    } in cases
    {
        let error: ConfigError = Config::parse(path, &source).expect_err(&source);
        assert_eq!(error.to_string(), message, "message for:\n{source}");
        let (line, column) = place;
        assert_eq!(
            error.place(),
            Some((path, line, column)),
            "place for:\n{source}"
        );
        assert_eq!(error.code(), code, "code for:\n{source}");
        assert_eq!(error.hint().as_deref(), hint, "hint for:\n{source}");
    }
}

#[test]
fn toml_itself() {
    check(vec![
        case(
            "[models\n",
            ConfigSyntax,
            "unclosed table, expected `]`",
            (1, 8),
            None,
        ),
        case(
            "a = 1\na = 2\n",
            ConfigSyntax,
            "duplicate key",
            (2, 1),
            None,
        ),
        case(
            "é = 1",
            ConfigSyntax,
            "invalid unquoted key, expected letters, numbers, `-`, `_`",
            (1, 1),
            None,
        ),
        case(
            "a = \"é\" x",
            ConfigSyntax,
            "unexpected key or value, expected newline, `#`",
            (1, 9),
            None,
        ),
        case(
            "a = \"x\nb = 1",
            ConfigSyntax,
            "invalid basic string, expected `\"`",
            (1, 7),
            None,
        ),
    ]);
}

#[test]
fn tables_and_keys() {
    let top = "it may be `models`, `data`, `tools`, `limits`, `events`";
    check(vec![
        case(
            "[model]\nx = \"y\"",
            ConfigValue,
            "unknown key `model` in the top level",
            (1, 2),
            "did you mean `models`?",
        ),
        case(
            "\nname = 1",
            ConfigValue,
            "unknown key `name` in the top level",
            (2, 1),
            top,
        ),
        case(
            "models = 1",
            ConfigValue,
            "`models` is an integer, not a table",
            (1, 10),
            None,
        ),
        case(
            "[[tools]]",
            ConfigValue,
            "`tools` is an array, not a table",
            (1, 1),
            None,
        ),
        case(
            "[models]\na = 1",
            ConfigValue,
            "`a` is an integer, not a string",
            (2, 5),
            None,
        ),
        case(
            "[models]\na = \" \"",
            ConfigValue,
            "`a` is empty",
            (2, 5),
            None,
        ),
    ]);
}

#[test]
fn data_sources() {
    check(vec![
        case(
            "[data.orders]",
            ConfigValue,
            "`[data.orders]` has no `seed`",
            (1, 7),
            "add `seed` to `[data.orders]`",
        ),
        case(
            "[data.orders]\nsede = \"x\"",
            ConfigValue,
            "unknown key `sede` in `[data.orders]`",
            (2, 1),
            "did you mean `seed`?",
        ),
        case(
            "[data.\"../x\"]\nseed = \"x\"",
            ConfigValue,
            "`../x` cannot name a data source",
            (1, 7),
            "use 1 to 64 ASCII letters, digits, `_` and `-`",
        ),
        case(
            "data.d.seed = \"\"",
            ConfigValue,
            "`seed` is empty",
            (1, 15),
            None,
        ),
        case(
            "data.d = \"x\"",
            ConfigValue,
            "`d` is a string, not a table",
            (1, 10),
            None,
        ),
    ]);
}

#[test]
fn limits() {
    check(vec![
        case(
            "[limits]\nstep = 1",
            ConfigValue,
            "unknown key `step` in `[limits]`",
            (2, 1),
            "did you mean `steps`?",
        ),
        case(
            "limits.steps = 0",
            ConfigValue,
            "`steps` is 0, not 1 or more",
            (1, 16),
            None,
        ),
        case(
            "limits.tool_calls = -1",
            ConfigValue,
            "`tool_calls` is -1, not 0 or more",
            (1, 21),
            None,
        ),
        case(
            "limits.model_calls = 1.5",
            ConfigValue,
            "`model_calls` is a float, not a whole number",
            (1, 22),
            None,
        ),
    ]);
}

#[test]
fn events() {
    check(vec![
        case(
            "[events]\nkep = true",
            ConfigValue,
            "unknown key `kep` in `[events]`",
            (2, 1),
            "did you mean `keep`?",
        ),
        case(
            "events.keep = \"yes\"",
            ConfigValue,
            "`keep` is a string, not a boolean",
            (1, 15),
            None,
        ),
        case(
            "events.last = 0",
            ConfigValue,
            "`last` is 0, not 1 or more",
            (1, 15),
            None,
        ),
        case(
            "events.age = \"30d\"",
            ConfigValue,
            "`age` cannot be `30d`",
            (1, 14),
            "write a whole number and one of `ms`, `s`, `m`, `h`",
        ),
    ]);
}

#[test]
fn durations() {
    let units = "write a whole number and one of `ms`, `s`, `m`, `h`";
    check(vec![
        case(
            "limits.driven = \"10\"",
            ConfigValue,
            "`driven` cannot be `10`",
            (1, 17),
            units,
        ),
        case(
            "limits.driven = \"s\"",
            ConfigValue,
            "`driven` cannot be `s`",
            (1, 17),
            units,
        ),
        case(
            "limits.driven = \"1.5h\"",
            ConfigValue,
            "`driven` cannot be `1.5h`",
            (1, 17),
            units,
        ),
        case(
            "limits.driven = \"5 s\"",
            ConfigValue,
            "`driven` cannot be `5 s`",
            (1, 17),
            units,
        ),
        case(
            "limits.driven = \"-5s\"",
            ConfigValue,
            "`driven` cannot be `-5s`",
            (1, 17),
            units,
        ),
        case(
            "limits.driven = \"0s\"",
            ConfigValue,
            "`driven` is `0s`, not `1ms` to `8784h`",
            (1, 17),
            None,
        ),
        case(
            "limits.driven = \"99999999999999999999h\"",
            ConfigValue,
            "`driven` is `99999999999999999999h`, not `1ms` to `8784h`",
            (1, 17),
            None,
        ),
        case(
            "limits.driven = 0.5",
            ConfigValue,
            "`driven` is a float, not a duration",
            (1, 17),
            None,
        ),
    ]);
}

#[test]
fn tools_lack_something() {
    for key in ["kind", "data", "description", "arguments", "sql"] {
        let source = with_tool("");
        let lines: Vec<_> = source
            .lines()
            .filter(|line| !line.starts_with(&format!("{key} =")))
            .collect();
        let path = Path::new("rustagents.toml");
        let error = Config::parse(path, &lines.join("\n")).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("`[tools.refund]` has no `{key}`")
        );
        assert_eq!(error.place(), Some((path, 3, 8)));
        assert_eq!(
            error.hint().unwrap(),
            format!("add `{key}` to `[tools.refund]`")
        );
    }
}

#[test]
fn tools_say_what_they_cannot() {
    let sizes = "write a whole number and one of `B`, `KB`, `KiB`, `MB`, `MiB`";
    check(vec![
        case(
            with_tool("row = 1"),
            ConfigValue,
            "unknown key `row` in `[tools.refund]`",
            (9, 1),
            "did you mean `rows`?",
        ),
        case(
            with_tool("rows = \"1\""),
            ConfigValue,
            "`rows` is a string, not a whole number",
            (9, 8),
            None,
        ),
        case(
            with_tool("effect = \"onec\""),
            ConfigValue,
            "`effect` cannot be `onec`",
            (9, 10),
            "did you mean `once`?",
        ),
        case(
            with_tool("approval = \"perhaps\""),
            ConfigValue,
            "`approval` cannot be `perhaps`",
            (9, 12),
            "it may be `allow`, `ask`, `deny`",
        ),
        case(
            with_tool("max_output_bytes = \"16k\""),
            ConfigValue,
            "`max_output_bytes` cannot be `16k`",
            (9, 20),
            sizes,
        ),
        case(
            with_tool("max_output_bytes = 0"),
            ConfigValue,
            "`max_output_bytes` is `0`, not `1B` to `4MiB`",
            (9, 20),
            None,
        ),
        case(
            with_tool("max_output_bytes = \"4097KiB\""),
            ConfigValue,
            "`max_output_bytes` is `4097KiB`, not `1B` to `4MiB`",
            (9, 20),
            None,
        ),
        case(
            with_tool("max_output_bytes = \"20MiB\""),
            ConfigValue,
            "`max_output_bytes` is `20MiB`, not `1B` to `4MiB`",
            (9, 20),
            None,
        ),
        case(
            with_tool("timeout = true"),
            ConfigValue,
            "`timeout` is a boolean, not a duration",
            (9, 11),
            None,
        ),
        case(
            with_tool("ask = \"\""),
            ConfigValue,
            "`ask` is empty",
            (9, 7),
            None,
        ),
    ]);
}

/// A file with one good request, whose line 6 is `line`.
fn with_request(line: &str) -> String {
    format!(
        r#"[tools.status]
kind = "http"
description = "Where an order is."
arguments = {{ type = "object" }}
url = "https://api.example.com/"
{line}
"#
    )
}

/// Lines of a request, with the message, the column and the hint.
fn check_requests(lines: &[(&'static str, &'static str, usize, Option<&'static str>)]) {
    let cases = lines.iter().map(|(line, message, column, hint)| {
        case(
            with_request(line),
            ConfigValue,
            message,
            (6, *column),
            *hint,
        )
    });
    check(cases.collect());
}

#[test]
fn requests_say_what_they_cannot() {
    let unknown = "unknown key `header` in `[tools.status]`";
    let meant = Some("did you mean `headers`?");
    let number = "`redirects` is a string, not a whole number";
    let methods = Some("did you mean `GET`?");
    check_requests(&[
        ("header = {}", unknown, 1, meant),
        ("method = \"get\"", "`method` cannot be `get`", 10, methods),
        (
            "method = 1",
            "`method` is an integer, not a string",
            10,
            None,
        ),
        (
            "private = 1",
            "`private` is an integer, not a boolean",
            11,
            None,
        ),
        ("redirects = 11", "`redirects` is 11, not 0 to 10", 13, None),
        (
            "redirects = -1",
            "`redirects` is -1, not 0 or more",
            13,
            None,
        ),
        ("redirects = \"1\"", number, 13, None),
        (
            "hosts = \"a\"",
            "`hosts` is a string, not an array",
            9,
            None,
        ),
        (
            "hosts = [\"a\", 1]",
            "`hosts` is an integer, not a string",
            15,
            None,
        ),
        ("hosts = [\"\"]", "`hosts` is empty", 10, None),
    ]);
}

#[test]
fn headers_say_what_they_cannot() {
    let unknown = "unknown key `envv` in `[tools.status.headers.x]`";
    let lacking = "`[tools.status.headers.x]` has no `env`";
    let adding = Some("add `env` to `[tools.status.headers.x]`");
    let kind = "`x` is an integer, not a string or a table";
    let prefix = "`prefix` is an integer, not a string";
    check_requests(&[
        (
            "headers = []",
            "`headers` is an array, not a table",
            11,
            None,
        ),
        ("headers.x = 1", kind, 13, None),
        ("headers.x = \"\"", "`x` is empty", 13, None),
        (
            "headers.x = { envv = \"X\" }",
            unknown,
            15,
            Some("did you mean `env`?"),
        ),
        ("headers.x = { prefix = \"X\" }", lacking, 9, adding),
        ("headers.x = { env = \" \" }", "`env` is empty", 21, None),
        ("headers.x = { env = \"X\", prefix = 1 }", prefix, 35, None),
    ]);
}

#[test]
fn requests_lack_something() {
    let changed = |from, to| with_request("").replace(from, to);
    let lacks_url = "`[tools.status]` has no `url`";
    let lacks_kind = "`[tools.status]` has no `kind`";
    check(vec![
        case(
            changed("\"https://api.example.com/\"", "\"\""),
            ConfigValue,
            "`url` is empty",
            (5, 7),
            None,
        ),
        case(
            changed("url =", "method = \"GET\" #"),
            ConfigValue,
            lacks_url,
            (1, 8),
            "add `url` to `[tools.status]`",
        ),
        case(
            changed("kind =", "method ="),
            ConfigValue,
            lacks_kind,
            (1, 8),
            "add `kind` to `[tools.status]`",
        ),
    ]);
}

#[test]
fn tools_are_what_they_cannot_be() {
    let names = "use 1 to 64 ASCII letters, digits, `_` and `-`";
    check(vec![
        case(
            with_changed_tool("\"sql\"", "\"sqll\""),
            ConfigValue,
            "`kind` cannot be `sqll`",
            (4, 8),
            "did you mean `sql`?",
        ),
        case(
            with_changed_tool("Pay back.", ""),
            ConfigValue,
            "`description` is empty",
            (6, 15),
            None,
        ),
        case(
            with_changed_tool("tools.refund", "tools.\"re fund\""),
            ToolDeclaration,
            "`re fund` cannot name a tool",
            (3, 8),
            names,
        ),
        case(
            with_changed_tool("data = \"orders\"", "data = \"order\""),
            ToolDeclaration,
            "the tool `refund` uses the unknown data source `order`",
            (5, 8),
            "did you mean `orders`?",
        ),
        case(
            with_changed_tool("[data.orders]\nseed = \"orders.sql\"\n", ""),
            ToolDeclaration,
            "the tool `refund` uses the unknown data source `orders`",
            (3, 8),
            "declare it as `[data.orders]`",
        ),
    ]);
}

/// A file with one good command, whose line 6 is `line`.
fn with_command(line: &str) -> String {
    format!(
        r#"[tools.convert]
kind = "command"
description = "Convert."
arguments = {{ type = "object" }}
command = ["convert"]
{line}
"#
    )
}

/// The same file, with another command.
fn with_changed_command(command: &str) -> String {
    with_command("").replace("[\"convert\"]", command)
}

#[test]
fn commands_lack_something_or_have_too_much() {
    check(vec![
        case(
            with_command("").replace("command = [", "comand = ["),
            ConfigValue,
            "unknown key `comand` in `[tools.convert]`",
            (5, 1),
            "did you mean `command`?",
        ),
        case(
            with_command("").replace("command = [\"convert\"]", ""),
            ConfigValue,
            "`[tools.convert]` has no `command`",
            (1, 8),
            "add `command` to `[tools.convert]`",
        ),
        case(
            with_command("sql = \"SELECT 1\""),
            ConfigValue,
            "unknown key `sql` in `[tools.convert]`",
            (6, 1),
            "it may be `kind`, `description`, `arguments`, `effect`, `approval`, `ask`, \
             `timeout`, `max_output_bytes`, `command`, `stdin`, `folder`, `env`, `output`",
        ),
        case(
            with_tool("command = [\"convert\"]"),
            ConfigValue,
            "unknown key `command` in `[tools.refund]`",
            (9, 1),
            "it may be `kind`, `description`, `arguments`, `effect`, `approval`, `ask`, \
             `timeout`, `max_output_bytes`, `data`, `sql`, `rows`",
        ),
    ]);
}

#[test]
fn commands_say_what_they_cannot() {
    check(vec![
        case(
            with_changed_command("\"convert\""),
            ConfigValue,
            "`command` is a string, not an array",
            (5, 11),
            None,
        ),
        case(
            with_changed_command("[]"),
            ConfigValue,
            "`command` is empty",
            (5, 11),
            None,
        ),
        case(
            with_changed_command("[\"convert\", 5]"),
            ConfigValue,
            "`command` is an integer, not a string or an array of strings",
            (5, 23),
            None,
        ),
        case(
            with_changed_command("[\"convert\", [\"a\", [\"b\"]]]"),
            ConfigValue,
            "`command` is an array, not a string",
            (5, 29),
            None,
        ),
        case(
            with_command("stdin = \"argument\""),
            ConfigValue,
            "`stdin` cannot be `argument`",
            (6, 9),
            "did you mean `arguments`?",
        ),
        case(
            with_command("output = \"xml\""),
            ConfigValue,
            "`output` cannot be `xml`",
            (6, 10),
            "it may be `text`, `json`",
        ),
        case(
            with_command("folder = \"\""),
            ConfigValue,
            "`folder` is empty",
            (6, 10),
            None,
        ),
        case(
            with_command("env = \"PATH\""),
            ConfigValue,
            "`env` is a string, not an array",
            (6, 7),
            None,
        ),
        case(
            with_command("env = [\"PATH\", 1]"),
            ConfigValue,
            "`env` is an integer, not a string",
            (6, 16),
            None,
        ),
    ]);
}

#[test]
fn schemas_that_are_not_json_schemas_of_objects() {
    let arguments = |toml: &str| with_changed_tool("{ type = \"object\" }", toml);
    let root = "the schema needs `type = \"object\"`";
    check(vec![
        case(
            arguments("\"object\""),
            ConfigValue,
            "`arguments` is a string, not a table",
            (7, 13),
            None,
        ),
        case(
            arguments("{}"),
            ToolDeclaration,
            "the arguments of `refund` are not an object",
            (7, 13),
            root,
        ),
        case(
            arguments("{ type = \"array\" }"),
            ToolDeclaration,
            "the arguments of `refund` are not an object",
            (7, 22),
            root,
        ),
        case(
            arguments("{ type = [\"object\", \"null\"] }"),
            ToolDeclaration,
            "the arguments of `refund` are not an object",
            (7, 22),
            root,
        ),
        case(
            arguments("{ type = \"object\", default = 2020-01-01 }"),
            ToolDeclaration,
            "`default` is a date-time, which JSON does not have",
            (7, 42),
            None,
        ),
        case(
            arguments("{ type = \"object\", maximum = inf }"),
            ToolDeclaration,
            "`maximum` is `inf`, which JSON does not have",
            (7, 42),
            None,
        ),
        case(
            arguments("{ type = \"object\", enum = [1, nan] }"),
            ToolDeclaration,
            "`enum` is `nan`, which JSON does not have",
            (7, 43),
            None,
        ),
        case(
            arguments("{ type = \"object\", maximum = 1e999 }"),
            ToolDeclaration,
            "`maximum` is `1e999`, which JSON does not have",
            (7, 42),
            None,
        ),
        case(
            arguments("{ type = \"object\", maximum = 99999999999999999999 }"),
            ToolDeclaration,
            "`maximum` is `99999999999999999999`, which JSON does not have",
            (7, 42),
            None,
        ),
    ]);
}

#[test]
fn messages_are_one_line() {
    for source in [
        "x = \"\n",
        "x = \"\"\"\n",
        "=",
        "[a]\n[a]\n",
        "x = 'a\nb'",
        "\u{0}",
        "a.b = 1\na = 2",
    ] {
        let error = Config::parse(Path::new("x.toml"), source).unwrap_err();
        let message = error.to_string();
        assert!(
            !message.contains('\n') && !message.is_empty(),
            "{message:?}"
        );
        assert!(!message.starts_with(char::is_uppercase), "{message:?}");
    }
}

#[test]
fn deep_nesting_is_refused_and_not_a_crash() {
    let source = format!("x = {}", "[".repeat(100_000));
    let error = Config::parse(Path::new("x.toml"), &source).unwrap_err();
    assert_eq!(error.code(), ConfigSyntax);
}

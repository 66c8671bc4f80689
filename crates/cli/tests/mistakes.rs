//! Bad input is an error with a code, with a place and a hint where there is one;
//! nothing is written then, not even a new store.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::bench::{Desk, REFUND, Said};

/// A change to a file of the desk.
#[derive(Clone, Copy)]
enum Change {
    None,
    Edit(&'static str, &'static str, &'static str),
    Append(&'static str, &'static [u8]),
    Write(&'static str, &'static [u8]),
    /// A space at the end for each byte that a file may have.
    Enlarge(&'static str),
    Remove(&'static str),
    Folder(&'static str),
}

/// A mistake, and what is said about it. Empty words are not looked for.
#[derive(Clone, Copy)]
struct Mistake<'a> {
    change: Change,
    arguments: &'a [&'a str],
    code: &'a str,
    /// The end of the error's place.
    place: &'a str,
    /// Some of the message's words.
    says: &'a str,
    /// Some of the hint's words.
    hint: &'a str,
}

/// `rag run` on the example.
const RUN: Mistake<'static> = Mistake {
    change: Change::None,
    arguments: &["run", ".", "--thread", "demo", "--input", REFUND],
    code: "",
    place: "",
    says: "",
    hint: "",
};

impl Change {
    fn apply(self, desk: &Desk) {
        match self {
            Self::None => {}
            Self::Edit(name, from, to) => desk.edit(name, from, to),
            Self::Append(name, bytes) => {
                let mut whole = fs::read(desk.path().join(name)).unwrap();
                whole.extend(bytes);
                desk.write(name, whole);
            }
            Self::Write(name, bytes) => {
                desk.write(name, bytes);
            }
            Self::Enlarge(name) => {
                let text = fs::read_to_string(desk.path().join(name)).unwrap();
                desk.write(name, text + &" ".repeat(1 << 20));
            }
            Self::Remove(name) => fs::remove_file(desk.path().join(name)).unwrap(),
            Self::Folder(name) => fs::create_dir(desk.path().join(name)).unwrap(),
        }
    }
}

impl Mistake<'_> {
    /// Makes the mistake for a person and for a script.
    fn check(&self, desk: &Desk) {
        self.check_with(desk, self.arguments);
    }

    fn check_with(&self, desk: &Desk, arguments: &[&str]) {
        let before = desk.files();
        self.check_person(&desk.rag(arguments), arguments);
        self.check_script(&desk.rag(&[arguments, &["--json"]].concat()), arguments);
        assert!(desk.files() == before, "{arguments:?} wrote something");
    }

    fn check_person(&self, said: &Said, arguments: &[&str]) {
        assert_eq!(said.status, Some(2), "{arguments:?}: {said:?}");
        assert_eq!(said.stdout, "", "{arguments:?}: {said:?}");
        let code = format!("error[{}]", self.code);
        for words in [&code, self.place, self.says, self.hint] {
            assert!(
                said.stderr.contains(words),
                "{arguments:?}: no `{words}` in {said:?}"
            );
        }
    }

    fn check_script(&self, said: &Said, arguments: &[&str]) {
        let error = refusal(said, arguments);
        assert_eq!(error["code"], self.code, "{arguments:?}: {error}");
        let of = |field: &str| error[field].as_str().unwrap_or_default().to_owned();
        assert!(
            of("message").contains(self.says),
            "{arguments:?}: no `{}` in {error}",
            self.says
        );
        assert!(
            of("place").ends_with(self.place),
            "{arguments:?}: {error} is not at `{}`",
            self.place
        );
        assert!(
            of("hint").contains(self.hint),
            "{arguments:?}: no hint `{}` in {error}",
            self.hint
        );
    }
}

/// The error in the object that stands for no run.
fn refusal(said: &Said, arguments: &[&str]) -> Value {
    assert_eq!(said.status, Some(2), "{arguments:?}: {said:?}");
    let mut object = said.json();
    let error = object["error"].take();
    let nothing = json!({
        "schema": "rag.run/1", "status": "failed", "thread": null, "run": null, "output": null,
        "interrupts": [],
        "usage": {
            "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "reasoning_tokens": 0,
            "model_calls": 0, "tool_calls": 0,
        },
        "cost": null, "steps": 0, "error": null,
    });
    assert_eq!(object, nothing, "{arguments:?}");
    error
}

#[test]
fn a_target_that_cannot_be_read_is_refused() {
    for mistake in [
        Mistake {
            arguments: &["run", "nowhere.rag", "--input", REFUND],
            code: "RAG0002",
            says: "`nowhere.rag`",
            ..RUN
        },
        Mistake {
            arguments: &["check", "support.rag", "nowhere.rag"],
            code: "RAG0002",
            says: "`nowhere.rag`",
            ..RUN
        },
        Mistake {
            change: Change::Folder("empty"),
            arguments: &["run", "empty", "--input", REFUND],
            code: "RAG0002",
            says: "0 .rag files",
            hint: "name the .rag file itself",
            ..RUN
        },
        Mistake {
            change: Change::Write("second.rag", b"graph second {}"),
            code: "RAG0002",
            says: "2 .rag files",
            hint: "name the .rag file itself",
            ..RUN
        },
        Mistake {
            change: Change::Write("support.rag", b"graph \xff {"),
            code: "RAG0003",
            says: "not UTF-8 at byte 6",
            hint: "UTF-8",
            ..RUN
        },
        Mistake {
            change: Change::Write("support.rag", b"graph \xff {"),
            arguments: &["check", "support.rag"],
            code: "RAG0003",
            says: "not UTF-8 at byte 6",
            hint: "UTF-8",
            ..RUN
        },
        Mistake {
            change: Change::Enlarge("support.rag"),
            code: "RAG0309",
            says: "support.rag",
            ..RUN
        },
    ] {
        let desk = Desk::new();
        mistake.change.apply(&desk);
        mistake.check(&desk);
    }
}

#[test]
fn a_plan_that_does_not_compile_is_refused_with_its_place() {
    for mistake in [
        Mistake {
            change: Change::Edit("support.rag", "start triage", "start ]"),
            code: "RAG0101",
            place: "support.rag:6:9",
            ..RUN
        },
        Mistake {
            change: Change::Edit(
                "support.rag",
                r#"tools ["lookup_order", "open_claim"]"#,
                r#"tools ["lookup_order", "open_clam"]"#,
            ),
            code: "RAG0102",
            place: "support.rag:28:28",
            says: "`open_clam`",
            hint: "did you mean `open_claim`?",
            ..RUN
        },
        Mistake {
            change: Change::Edit(
                "support.rag",
                "node reply { kind agent  model \"default\"",
                "node reply { kind agent  model \"defualt\"",
            ),
            code: "RAG0103",
            place: "support.rag:31:34",
            says: "`defualt`",
            hint: "did you mean `default`?",
            ..RUN
        },
        Mistake {
            change: Change::Edit("support.rag", "other -> reply", "other -> repy"),
            code: "RAG0104",
            place: "support.rag:14:16",
            says: "`repy`",
            hint: "did you mean `reply`?",
            ..RUN
        },
    ] {
        let desk = Desk::new();
        mistake.change.apply(&desk);
        mistake.check(&desk);
    }
}

/// The configuration of the example.
const TOML: &str = "rustagents.toml";

const CONFIGURATIONS: &[Mistake<'static>] = &[
    Mistake {
        change: Change::Edit(TOML, "[models]", "[models"),
        code: "RAG0201",
        place: "rustagents.toml:1:8",
        ..RUN
    },
    Mistake {
        change: Change::Append(TOML, b"[limits]\nsteps = 1\nsteps = 2\n"),
        code: "RAG0201",
        place: "rustagents.toml:38:1",
        ..RUN
    },
    Mistake {
        change: Change::Append(TOML, b"a = \"\xff\""),
        code: "RAG0003",
        place: "rustagents.toml:36:6",
        ..RUN
    },
    Mistake {
        change: Change::Edit(TOML, "timeout = \"5s\"", "timeout = \"5 parsecs\""),
        code: "RAG0202",
        place: "rustagents.toml:24:11",
        says: "`timeout`",
        hint: "`ms`",
        ..RUN
    },
    Mistake {
        change: Change::Append(TOML, b"[limits]\nsteps = \"many\"\n"),
        code: "RAG0202",
        place: "rustagents.toml:37:9",
        says: "`steps`",
        ..RUN
    },
    Mistake {
        change: Change::Append(TOML, b"[limits]\nstep = 3\n"),
        code: "RAG0202",
        place: "rustagents.toml:37:1",
        says: "`step`",
        hint: "did you mean `steps`?",
        ..RUN
    },
    Mistake {
        change: Change::Append(TOML, b"[modles]\n"),
        code: "RAG0202",
        place: "rustagents.toml:36:2",
        says: "`modles`",
        hint: "did you mean `models`?",
        ..RUN
    },
    Mistake {
        change: Change::Edit(TOML, "[data.orders]", "[data.oders]"),
        code: "RAG0203",
        place: "rustagents.toml:9:8",
        says: "`orders`",
        hint: "did you mean `oders`?",
        ..RUN
    },
    Mistake {
        change: Change::Remove("orders.sql"),
        code: "RAG0204",
        place: "rustagents.toml:5:8",
        says: "orders.sql",
        ..RUN
    },
    Mistake {
        change: Change::Append("orders.sql", b"-- \xff"),
        code: "RAG0204",
        place: "rustagents.toml:5:8",
        says: "not UTF-8",
        ..RUN
    },
    Mistake {
        arguments: &["run", ".", "--input", REFUND, "--config", "gone.toml"],
        code: "RAG0002",
        place: "gone.toml",
        says: "`gone.toml`",
        ..RUN
    },
    Mistake {
        arguments: &["check", ".", "--config", "gone.toml"],
        code: "RAG0002",
        place: "gone.toml",
        says: "`gone.toml`",
        ..RUN
    },
];

#[test]
fn a_configuration_that_does_not_work_is_refused_with_its_place() {
    for mistake in CONFIGURATIONS {
        let desk = Desk::new();
        mistake.change.apply(&desk);
        mistake.check(&desk);
    }
}

#[test]
fn a_model_that_does_not_work_is_refused() {
    for mistake in [
        Mistake {
            change: Change::Edit("rustagents.toml", "scripted:", "scriptd:"),
            code: "RAG0205",
            place: "rustagents.toml:2:11",
            says: "`scriptd:script.toml`",
            hint: "scripted:PATH",
            ..RUN
        },
        Mistake {
            arguments: &["run", ".", "--input", REFUND, "--model", "default=what:x"],
            code: "RAG0205",
            says: "`what:x`",
            hint: "scripted:PATH",
            ..RUN
        },
        Mistake {
            arguments: &["run", ".", "--input", REFUND, "--model", "default"],
            code: "RAG0001",
            says: "ALIAS=SPEC",
            ..RUN
        },
        Mistake {
            arguments: &["run", ".", "--input", REFUND, "--model", "=scripted:x"],
            code: "RAG0001",
            says: "ALIAS=SPEC",
            ..RUN
        },
        Mistake {
            change: Change::Remove("script.toml"),
            code: "RAG0002",
            place: "rustagents.toml:2:11",
            says: "script.toml",
            ..RUN
        },
        Mistake {
            change: Change::Append("script.toml", b"# \xff"),
            code: "RAG0003",
            says: "script.toml",
            hint: "UTF-8",
            ..RUN
        },
        Mistake {
            change: Change::Append("script.toml", b"]"),
            code: "RAG0206",
            place: "script.toml",
            says: "line 24, column 1",
            ..RUN
        },
        Mistake {
            change: Change::Edit("script.toml", "rule = [", "rule = [{ txt = \"hi\" },"),
            code: "RAG0206",
            place: "script.toml",
            says: "rule 1: unknown key `txt`",
            hint: "`text`",
            ..RUN
        },
        Mistake {
            change: Change::Edit("script.toml", "(?i)refund|", "(?i"),
            code: "RAG0206",
            place: "script.toml",
            says: "rule 1: `user` is not a regular expression",
            ..RUN
        },
    ] {
        let desk = Desk::new();
        mistake.change.apply(&desk);
        mistake.check(&desk);
    }
}

#[test]
fn an_input_or_a_channel_that_does_not_fit_is_refused() {
    let large = vec![b'a'; (1 << 20) + 1];
    let desk = Desk::new();
    desk.write("large.txt", &large);
    desk.write("latin.txt", b"caf\xe9");
    let before = desk.files();
    for (given, code, says, hint) in [
        (["--input-file", "gone.txt"], "RAG0002", "`gone.txt`", ""),
        (
            ["--input-file", "latin.txt"],
            "RAG0003",
            "at byte 3",
            "UTF-8",
        ),
        (["--input-file", "large.txt"], "RAG0309", "1048576", ""),
        (["--set", "topic"], "RAG0001", "NAME=JSON", ""),
        (["--set", "=1"], "RAG0001", "NAME=JSON", ""),
        (["--set", "topic="], "RAG0405", "topic", ""),
        (["--set", "topic=hello"], "RAG0405", "topic", "quotes"),
        (
            ["--set", r#"topic={"a":1,"a":2}"#],
            "RAG0405",
            "duplicate key `a`",
            "",
        ),
        (["--set", "topik=1"], "RAG0411", "`topik`", ""),
        (["--set", "messages=1"], "RAG0411", "`messages`", ""),
    ] {
        let mistake = Mistake {
            code,
            says,
            hint,
            ..RUN
        };
        mistake.check_with(
            &desk,
            &[&["run", ".", "--thread", "demo"], &given[..]].concat(),
        );
    }
    for (bytes, code) in [(&large[..], "RAG0309"), (b"caf\xe9", "RAG0003")] {
        let arguments = ["run", ".", "-", "--json"];
        let said = with_stdin(desk.command(&arguments), bytes);
        assert_eq!(refusal(&said, &arguments)["code"], code);
    }
    assert!(desk.files() == before, "something was written");
}

/// Runs a command that reads `bytes`, or less of them than there are.
fn with_stdin(mut command: Command, bytes: &[u8]) -> Said {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program may stop reading at its limit, which breaks the pipe.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    Said::of(child.wait_with_output().unwrap())
}

#[test]
fn a_plan_without_a_conversation_takes_no_input() {
    let desk = Desk::new();
    desk.write(
        "quiet.rag",
        r#"graph quiet {
          channel note overwrite
          start ask
          node ask { kind interrupt  prompt "What?"  output note  next END }
        }"#,
    );
    let mistake = Mistake {
        arguments: &["run", "quiet.rag", "--input", REFUND],
        code: "RAG0411",
        says: "messages channel",
        hint: "channel messages messages",
        ..RUN
    };
    mistake.check(&desk);
}

#[test]
fn a_store_that_is_none_is_refused_and_left_alone() {
    let stores: [(fn(&Path), _, _); 4] = [
        (
            |path| fs::write(path, "short").unwrap(),
            "RAG0303",
            "--store",
        ),
        // More than the hundred bytes of a database's header.
        (
            |path| fs::write(path, "text ".repeat(99)).unwrap(),
            "RAG0303",
            "--store",
        ),
        (foreign_database, "RAG0303", "--store"),
        (|path| fs::create_dir(path).unwrap(), "RAG0301", ""),
    ];
    for (make, code, hint) in stores {
        let desk = Desk::new();
        make(&desk.path().join("s.db"));
        check_store(&desk, code, hint);
    }
}

fn foreign_database(path: &Path) {
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute_batch("CREATE TABLE notes(text)").unwrap();
}

/// Neither command uses the store `s.db`.
fn check_store(desk: &Desk, code: &str, hint: &str) {
    let mistake = Mistake {
        code,
        says: "s.db",
        hint,
        ..RUN
    };
    let store = ["--store", "sqlite:s.db"];
    mistake.check_with(desk, &[RUN.arguments, &store].concat());
    mistake.check_with(desk, &[&["resume", "demo"], &store[..]].concat());
}

#[test]
fn a_store_by_a_newer_version_is_refused_and_left_alone() {
    let desk = Desk::new();
    let said = desk.rag(&[RUN.arguments, &["--store", "sqlite:s.db"]].concat());
    assert_eq!(said.status, Some(3), "{said:?}");
    let store = rusqlite::Connection::open(desk.path().join("s.db")).unwrap();
    store
        .execute_batch("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    drop(store);
    check_store(&desk, "RAG0302", "newer");
}

#[test]
fn an_address_that_is_no_store_is_refused() {
    for address in [
        "",
        "nonsense",
        "sqlite",
        "sqlite:",
        "memory",
        "postgres://x",
        "file:",
        "sqlite:x?synchronous=off",
    ] {
        let mistake = Mistake {
            code: "RAG0310",
            hint: "sqlite:PATH",
            ..RUN
        };
        let desk = Desk::new();
        let store = ["--store", address];
        mistake.check_with(&desk, &[RUN.arguments, &store].concat());
        mistake.check_with(&desk, &[&["resume", "demo"], &store[..]].concat());
    }
}

#[test]
fn a_name_that_no_thread_may_have_is_refused() {
    let long = "a".repeat(256);
    let desk = Desk::new();
    for name in ["", "a@b@3", &long, "tab\there", "esc\u{1b}[31m"] {
        let mistake = Mistake {
            code: "RAG0410",
            hint: "1 to 255 bytes",
            ..RUN
        };
        mistake.check_with(&desk, &["run", ".", "--input", REFUND, "--thread", name]);
        mistake.check_with(&desk, &["resume", name]);
    }
}

#[test]
fn a_thread_that_is_unknown_cannot_be_resumed() {
    let mistake = Mistake {
        code: "RAG0401",
        says: "`nobody`",
        ..RUN
    };
    for arguments in [
        &["resume", "nobody"][..],
        &["resume", "nobody", "--approve", "c-1"],
        &["resume", "nobody", "--store", "memory:"],
        &["resume", "nobody", "--store", "sqlite:no/such.db"],
        &["resume", "nobody", "--target", "."],
    ] {
        mistake.check_with(&Desk::new(), arguments);
    }
    let desk = Desk::new();
    desk.run_refund();
    mistake.check_with(&desk, &["resume", "nobody"]);
}

/// What the two suspended calls of the example are called.
struct Calls {
    refund: Value,
    claim: Value,
}

impl Calls {
    fn of(said: &Said) -> Self {
        let find = |tool: &str| {
            let mut asks = said.interrupts().into_iter();
            asks.find(|ask| ask["tool"] == tool).unwrap_or_default()
        };
        Self {
            refund: find("refund"),
            claim: find("open_claim"),
        }
    }

    /// Puts names and hashes for their place holders.
    fn name(&self, template: &str) -> String {
        let text = |ask: &Value, field: &str| ask[field].as_str().unwrap_or_default().to_owned();
        let (hash, other) = (text(&self.refund, "hash"), text(&self.claim, "hash"));
        template
            .replace("REFUND", &text(&self.refund, "call"))
            .replace("CLAIM", &text(&self.claim, "call"))
            .replace("HASH", &hash)
            .replace("OTHER", &other)
            .replace("THREE", hash.get(..3).unwrap_or_default())
    }
}

/// Options, and the code, message and hint of their refusal.
type Answer = (
    &'static [&'static str],
    &'static str,
    &'static str,
    &'static str,
);

const ANSWERS: &[Answer] = &[
    (&["--approve", "c-99"], "RAG0402", "`c-99`", "pending: "),
    (&["--deny", "c-99"], "RAG0402", "`c-99`", "pending: "),
    (&["--deny", "=no"], "RAG0402", "``", "pending: "),
    (
        &["--answer", "ask:1.0/1=true"],
        "RAG0402",
        "`ask:1.0/1`",
        "pending: ",
    ),
    (&["--done", "c-99=1"], "RAG0402", "`c-99`", "pending: "),
    (&["--not-done", "c-99"], "RAG0402", "`c-99`", "pending: "),
    (&["--repeat", "c-99"], "RAG0402", "`c-99`", "pending: "),
    // Another call's hash, no hash, and a start of the right one that is too short.
    (
        &["--approve", "REFUND@OTHER"],
        "RAG0403",
        "not OTHER",
        "approve what you see",
    ),
    (
        &["--approve", "REFUND@"],
        "RAG0403",
        "HASH",
        "approve what you see",
    ),
    (
        &["--approve", "REFUND@THREE"],
        "RAG0403",
        "not THREE",
        "approve what you see",
    ),
    (
        &["--approve", "REFUND@HASH@x"],
        "RAG0403",
        "HASH",
        "approve what you see",
    ),
    (&["--done", "REFUND={"], "RAG0405", "--done REFUND", ""),
    (
        &["--done", "REFUND=done"],
        "RAG0405",
        "--done REFUND",
        "quotes",
    ),
    (
        &["--done", r#"REFUND={"a":1,"a":2}"#],
        "RAG0405",
        "duplicate key `a`",
        "",
    ),
    (&["--answer", "REFUND=["], "RAG0405", "--answer REFUND", ""),
    (
        &["--answer", r#"REFUND={"a":1,"a":2}"#],
        "RAG0405",
        "duplicate key `a`",
        "",
    ),
    (&["--done", "REFUND"], "RAG0001", "NAME=JSON", ""),
    (&["--answer", "REFUND"], "RAG0001", "NAME=JSON", ""),
    (
        &["--done", "REFUND=1"],
        "RAG0406",
        "`--approve` or `--deny`",
        "",
    ),
    (
        &["--not-done", "REFUND"],
        "RAG0406",
        "`--approve` or `--deny`",
        "",
    ),
    (
        &["--repeat", "REFUND"],
        "RAG0406",
        "`--approve` or `--deny`",
        "",
    ),
    (
        &["--answer", "REFUND=true"],
        "RAG0406",
        "`--approve` or `--deny`",
        "",
    ),
    (
        &["--approve", "REFUND", "--approve", "REFUND"],
        "RAG0404",
        "`REFUND`",
        "",
    ),
    (
        &["--approve", "REFUND", "--deny", "REFUND"],
        "RAG0404",
        "`REFUND`",
        "",
    ),
    (
        &["--deny", "REFUND", "--deny", "REFUND=no"],
        "RAG0404",
        "`REFUND`",
        "",
    ),
    // One good answer does not carry a bad one.
    (
        &["--approve", "CLAIM", "--approve", "c-99"],
        "RAG0402",
        "`c-99`",
        "pending: ",
    ),
    (
        &["--approve", "CLAIM", "--approve", "REFUND@OTHER"],
        "RAG0403",
        "not OTHER",
        "",
    ),
];

#[test]
fn an_answer_that_does_not_fit_is_refused() {
    let desk = Desk::new();
    let calls = Calls::of(&desk.run_refund());
    for (options, code, says, hint) in ANSWERS {
        refuse(&desk, &calls, options, [code, says, hint]);
    }
}

/// `rag resume demo` with these options is refused, with this code, message, hint.
fn refuse(desk: &Desk, calls: &Calls, options: &[&str], [code, says, hint]: [&str; 3]) {
    let options: Vec<_> = options.iter().map(|option| calls.name(option)).collect();
    let mut arguments = vec!["resume", "demo"];
    arguments.extend(options.iter().map(String::as_str));
    let mistake = Mistake {
        code,
        says: &calls.name(says),
        hint,
        ..RUN
    };
    mistake.check_with(desk, &arguments);
}

#[test]
fn an_answer_that_was_given_is_not_taken_again() {
    let desk = Desk::new();
    let calls = Calls::of(&desk.run_refund());
    let said = desk.resume(&["--approve".into(), calls.name("CLAIM")]);
    assert_eq!(said.status, Some(3), "{said:?}");
    for options in [
        &["--approve", "CLAIM"][..],
        &["--deny", "CLAIM"],
        &["--approve", "REFUND", "--approve", "CLAIM"],
    ] {
        refuse(&desk, &calls, options, ["RAG0404", "`CLAIM`", ""]);
    }
    let said = desk.resume(&["--approve".into(), calls.name("REFUND")]);
    assert_eq!(said.status, Some(0), "{said:?}");
    refuse(
        &desk,
        &calls,
        &["--approve", "REFUND"],
        ["RAG0404", "`REFUND`", ""],
    );
}

#[test]
fn a_resume_with_broken_files_leaves_the_thread_alone() {
    for mistake in [
        Mistake {
            change: Change::Edit("support.rag", "start triage", "start ]"),
            code: "RAG0101",
            place: "support.rag:6:9",
            ..RUN
        },
        Mistake {
            change: Change::Edit("rustagents.toml", "[models]", "[models"),
            code: "RAG0201",
            place: "rustagents.toml:1:8",
            ..RUN
        },
        Mistake {
            change: Change::Append("script.toml", b"]"),
            code: "RAG0206",
            place: "script.toml",
            ..RUN
        },
        Mistake {
            change: Change::Remove("support.rag"),
            code: "RAG0002",
            says: "support.rag",
            hint: "--target",
            ..RUN
        },
        Mistake {
            change: Change::Edit("rustagents.toml", "[tools.refund]", "[tools.repay]"),
            code: "RAG0102",
            place: "support.rag:21:28",
            says: "`refund`",
            ..RUN
        },
    ] {
        let desk = Desk::new();
        let calls = Calls::of(&desk.run_refund());
        mistake.change.apply(&desk);
        let refund = calls.name("REFUND@HASH");
        mistake.check_with(&desk, &["resume", "demo", "--approve", &refund]);
    }
}

#[test]
fn a_new_input_is_refused_while_a_thread_waits() {
    let rows = |desk: &Desk| {
        desk.journal("SELECT (SELECT count(*) FROM records), epoch, last_seq, owner FROM threads")
    };
    let desk = Desk::new();
    let first = desk.run_refund();
    let (before, orders) = (rows(&desk), desk.order("A-1042", "status"));

    let second = desk.run_refund();
    assert_eq!(second.status, Some(3), "{second:?}");
    assert_eq!(second.code(), "RAG0407");
    assert_eq!(second.interrupts(), first.interrupts());
    assert_eq!(second.interrupts().len(), 2);
    let object = second.json();
    assert_eq!(object["status"], "suspended");
    assert_eq!(object["run"], first.json()["run"]);

    let told = desk.rag(RUN.arguments);
    assert_eq!((told.status, &*told.stdout), (Some(3), ""), "{told:?}");
    let calls = Calls::of(&first);
    for words in [
        "error[RAG0407]",
        "Refund 12900 cents for A-1042",
        &calls.name("--approve REFUND@HASH"),
        &calls.name("--approve CLAIM@OTHER"),
    ] {
        assert!(told.stderr.contains(words), "no `{words}` in {told:?}");
    }
    // What would not be recorded is refused, and not what waits.
    let unrecorded = [RUN.arguments, &["--durability", "none"]].concat();
    let told = desk.rag(&unrecorded);
    assert_eq!(told.status, Some(3), "{told:?}");
    assert!(
        told.stderr.contains("rag resume demo --approve"),
        "{told:?}"
    );
    assert_eq!(rows(&desk), before);
    assert_eq!(desk.order("A-1042", "status"), orders);
}

#[test]
fn a_command_line_that_cannot_be_read_is_refused() {
    for (arguments, says) in [
        (&["frobnicate"][..], "'frobnicate'"),
        (&["help"], "'help'"),
        (&["run", ".", "--inptu", "x"], "'--inptu'"),
        (&["resume", "demo", "--bogus"], "'--bogus'"),
        (&["check", ".", "--bogus"], "'--bogus'"),
        (&["run", ".", "extra"], "'extra'"),
        (
            &["run", ".", "--input", "a", "--input", "b"],
            "'--input <TEXT>'",
        ),
        (
            &["run", ".", "--input", "a", "--input-file", "b"],
            "'--input-file <PATH>'",
        ),
        (&["run", ".", "-", "--input", "a"], "'--input <TEXT>'"),
        (
            &["run", ".", "-", "--input-file", "a"],
            "'--input-file <PATH>'",
        ),
        (&["run", ".", "--color", "blue"], "'blue'"),
        (
            &["run", ".", "--thread", "a", "--thread", "b"],
            "'--thread <ID>'",
        ),
        (
            &["resume", "demo", "--approve"],
            "'--approve <CALL[@HASH]>'",
        ),
    ] {
        let desk = Desk::new();
        let before = desk.files();
        let told = desk.rag(arguments);
        assert_eq!((told.status, &*told.stdout), (Some(2), ""), "{told:?}");
        for words in ["error[RAG0001]", says] {
            assert!(told.stderr.contains(words), "no {words} in {told:?}");
        }
        let error = refusal(&desk.rag(&[arguments, &["--json"]].concat()), arguments);
        assert_eq!(error["code"], "RAG0001", "{arguments:?}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(says), "no {says} in {error}");
        assert!(
            error["hint"].as_str().unwrap().contains("--help"),
            "{error}"
        );
        assert!(desk.files() == before, "{arguments:?} wrote something");
    }
}

#[test]
fn a_command_line_without_what_it_needs_is_refused() {
    for arguments in [&["run"][..], &["resume"], &["check"], &[]] {
        let desk = Desk::new();
        let before = desk.files();
        let told = desk.rag(arguments);
        assert_eq!((told.status, &*told.stdout), (Some(2), ""), "{told:?}");
        assert!(told.stderr.contains("Usage: rag"), "{told:?}");
        let error = refusal(&desk.rag(&[arguments, &["--json"]].concat()), arguments);
        assert_eq!(error["code"], "RAG0001", "{arguments:?}");
        assert!(desk.files() == before, "{arguments:?} wrote something");
    }
}

#[test]
fn sql_that_cannot_work_is_found_before_anything_runs() {
    let cases = [
        (
            "orders.sql",
            "CREATE TABLE orders",
            "CREATE TABL orders",
            "RAG0204",
            "TABL",
        ),
        (
            "rustagents.toml",
            "UPDATE orders SET status",
            "UPDATE orders SETT status",
            "RAG0203",
            "SETT",
        ),
        (
            "rustagents.toml",
            "FROM orders WHERE",
            "FROM ordres WHERE",
            "RAG0203",
            "ordres",
        ),
    ];
    for (file, from, to, code, word) in cases {
        let desk = Desk::new();
        desk.edit(file, from, to);
        let before = desk.files();
        for arguments in [
            &["check", ".", "--json"][..],
            &["run", ".", "--json", "--input", "hi"],
        ] {
            let said = desk.rag(arguments);
            assert_eq!(
                (said.status, said.code().as_str()),
                (Some(2), code),
                "{said:?}"
            );
            let message = said.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains(word), "{message}");
        }
        assert_eq!(desk.files(), before, "nothing is written");
    }
}

#[test]
fn a_schema_that_does_not_work_is_told_before_anything_is_written() {
    for broken in [
        r#"order = { type = "nope" }"#,
        r#"order = { type = "string", pattern = "(" }"#,
        r#"order = { type = "string", minLength = -1 }"#,
        r##"order = { "$ref" = "#/nowhere" }"##,
    ] {
        let desk = Desk::new();
        desk.edit("rustagents.toml", r#"order = { type = "string" }"#, broken);
        let before = desk.files();
        for arguments in [
            &["run", ".", "--input", "hi", "--json"][..],
            &["check", ".", "--json"],
        ] {
            let said = desk.rag(arguments);
            assert_eq!(
                (said.status, said.code()),
                (Some(2), "RAG0203".into()),
                "{broken}: {said:?}"
            );
        }
        assert_eq!(desk.files(), before, "{broken}");
    }
}

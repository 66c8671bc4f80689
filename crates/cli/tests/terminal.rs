//! The program at a real terminal: conversations, progress, colours, signals.

use std::{
    io::{Read, Write},
    num::NonZero,
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    bench::{Desk, REFUND, approvals},
    processes::slow_desk,
    real_http::{asked, said, serve},
};

/// How long something may take to be on the screen.
const PATIENCE: Duration = Duration::from_secs(30);

const ROWS: NonZero<u16> = NonZero::new(50).unwrap();
const COLUMNS: NonZero<u16> = NonZero::new(100).unwrap();

/// What a person is asked about a call.
const QUESTION: &str = "yes, or no with a reason:";

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

/// A program on a terminal of its own, and what the terminal shows.
struct Terminal {
    _master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    raw: Vec<u8>,
}

impl Terminal {
    fn start(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let size = PtySize {
            rows: ROWS.get(),
            cols: COLUMNS.get(),
            ..PtySize::default()
        };
        Self::sized(size, folder, arguments, variables)
    }

    fn sized(size: PtySize, folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let pty = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_rag"));
        command.args(arguments);
        command.cwd(folder);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "RAG_FAULT"] {
            command.env_remove(name);
        }
        command.env("TERM", "xterm-256color");
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pty.slave.spawn_command(command).unwrap();
        let mut reader = pty.master.try_clone_reader().unwrap();
        let keys = pty.master.take_writer().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            _master: pty.master,
            child,
            keys,
            output,
            screen: vt100::Parser::new(ROWS, COLUMNS, 1_000),
            raw: Vec::new(),
        }
    }

    fn chat(desk: &Desk) -> Self {
        let mut terminal = Self::start(desk.path(), &["chat", ".", "--thread", "demo"], &[]);
        terminal.asked(">");
        terminal
    }

    fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn say(&mut self, line: &str) {
        self.keys(&format!("{line}\r"));
    }

    fn shown(&self) -> String {
        self.screen.screen().contents()
    }

    /// Reads more of what the program writes, until `until` says stop.
    fn read(&mut self, wanted: &str, until: impl Fn(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !until(self) {
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => {
                    self.screen.process(&bytes);
                    self.raw.extend(bytes);
                }
                Err(RecvTimeoutError::Disconnected) if until(self) => return,
                Err(error) => panic!("no {wanted}: {error}\n{}", self.shown()),
            }
        }
    }

    /// What happens when the terminal is closed.
    fn hang_up(&mut self) {
        self.signal(Signal::HUP);
        assert_eq!(self.end(), 129, "{}", self.shown());
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.process_id().unwrap()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Waits until `text` is on the screen.
    #[track_caller]
    fn see(&mut self, text: &str) {
        self.read(text, |terminal| terminal.shown().contains(text));
    }

    /// Waits until the program waits for a line. Keys that come before are the
    /// terminal's, not the editor's.
    #[track_caller]
    fn asked(&mut self, prompt: &str) {
        self.read(prompt, |terminal| {
            terminal.shown().trim_end().ends_with(prompt)
        });
    }

    /// Waits for the end of the program; its exit status.
    #[track_caller]
    fn end(&mut self) -> u32 {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.exit_code();
            }
            if Instant::now() > end {
                self.child.kill().unwrap();
                panic!("it does not end:\n{}", self.shown());
            }
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(20)) {
                self.screen.process(&bytes);
                self.raw.extend(bytes);
            }
        };
        while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(50)) {
            self.screen.process(&bytes);
            self.raw.extend(bytes);
        }
        status
    }
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn a_refund_is_talked_about_and_approved_at_the_prompt() {
    let desk = Desk::new();
    let mut terminal = Terminal::chat(&desk);
    terminal.say(REFUND);
    terminal.asked(QUESTION);
    terminal.say("perhaps");
    terminal.asked(&format!("perhaps\n{QUESTION}"));
    terminal.say("yes");
    terminal.asked(&format!("{{\"order\":\"A-1042\"}}\n{QUESTION}"));
    terminal.say("no, it was never shipped");
    terminal.see("8 model calls, 3 tool calls");
    let shown = terminal.shown();
    let answer = "129.0 € are on their way. No claim: it was never shipped.";
    assert_eq!(count(&shown, answer), 1, "said once:\n{shown}");
    assert_eq!(desk.order("A-1042", "status").as_deref(), Some("refunded"));
    assert_eq!(desk.order("A-1042", "claim"), None);

    terminal.asked("\n>");
    terminal.say("Thanks, and B-2002?");
    terminal.see("2 model calls, 0 tool calls");
    terminal.asked("\n>");
    terminal.keys(CTRL_D);
    assert_eq!(terminal.end(), 0, "{}", terminal.shown());
    assert!(terminal.shown().contains("--thread demo"));
    let listed = desk.rag(&["threads"]);
    assert!(listed.stdout.starts_with("demo  completed"), "{listed:?}");
}

#[test]
fn the_end_of_the_input_at_a_question_leaves_it_open_and_a_chat_picks_it_up() {
    let desk = Desk::new();
    let mut terminal = Terminal::chat(&desk);
    terminal.say(REFUND);
    terminal.asked(QUESTION);
    terminal.keys(CTRL_D);
    assert_eq!(terminal.end(), 3, "{}", terminal.shown());
    assert!(terminal.shown().contains("resume demo --approve"));

    let arguments = ["chat", ".", "--thread", "demo"];
    let mut terminal = Terminal::start(desk.path(), &arguments, &[]);
    terminal.asked(QUESTION);
    terminal.say("yes");
    terminal.asked(&format!("{{\"order\":\"A-1042\"}}\n{QUESTION}"));
    opens_the_claim(&mut terminal, &desk);
}

/// Answers the question about the claim, and takes leave.
fn opens_the_claim(terminal: &mut Terminal, desk: &Desk) {
    terminal.say("yes");
    terminal.see("A claim with the carrier is open.");
    terminal.asked("\n>");
    terminal.keys(CTRL_D);
    assert_eq!(terminal.end(), 0, "{}", terminal.shown());
    assert_eq!(desk.order("A-1042", "claim").as_deref(), Some("open"));
}

#[test]
fn a_closed_terminal_loses_nothing() {
    let desk = Desk::new();
    let mut terminal = Terminal::chat(&desk);
    terminal.say(REFUND);
    terminal.asked(QUESTION);
    terminal.hang_up();

    let waiting = desk.resume(&[]);
    assert_eq!(waiting.status, Some(3), "{waiting:?}");
    let done = desk.resume(&approvals(&waiting));
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_eq!(desk.order("A-1042", "status").as_deref(), Some("refunded"));
}

#[test]
fn an_answer_is_recorded_before_the_next_question_is_answered() {
    let leave: [fn(&mut Terminal); 5] = [
        |terminal| terminal.signal(Signal::HUP),
        |terminal| terminal.signal(Signal::KILL),
        |terminal| terminal.signal(Signal::TERM),
        |terminal| terminal.keys(CTRL_D),
        |terminal| terminal.keys(CTRL_C),
    ];
    for leave in leave {
        let desk = Desk::new();
        let mut terminal = Terminal::chat(&desk);
        terminal.say(REFUND);
        let refund = |terminal: &mut Terminal| {
            terminal.asked(&format!("\"order\":\"A-1042\"}}\n{QUESTION}"));
        };
        let claim = |terminal: &mut Terminal| {
            terminal.asked(&format!("{{\"order\":\"A-1042\"}}\n{QUESTION}"));
        };
        refund(&mut terminal);
        terminal.say("yes");
        claim(&mut terminal);
        leave(&mut terminal);
        terminal.end();
        let left = desk.rag(&["threads", "show", "demo", "--json"]);
        assert_eq!(left.interrupts().len(), 1, "{left:?}");
        assert_eq!(left.interrupts()[0]["tool"], "open_claim");

        // What was answered is done, and only the other question is asked again.
        let arguments = ["chat", ".", "--thread", "demo"];
        let mut terminal = Terminal::start(desk.path(), &arguments, &[]);
        claim(&mut terminal);
        assert_eq!(desk.order("A-1042", "status").as_deref(), Some("refunded"));
        assert_eq!(count(&terminal.shown(), QUESTION), 1);
        opens_the_claim(&mut terminal, &desk);
    }
}

#[test]
fn who_leaves_between_two_questions_is_told_of_the_open_one_alone() {
    let desk = Desk::new();
    let mut terminal = Terminal::chat(&desk);
    terminal.say(REFUND);
    terminal.asked(QUESTION);
    terminal.say("yes");
    terminal.asked(&format!("{{\"order\":\"A-1042\"}}\n{QUESTION}"));
    terminal.keys(CTRL_D);
    assert_eq!(terminal.end(), 3, "{}", terminal.shown());
    let shown = terminal.shown();
    assert!(shown.contains("waits for 1 answer"), "{shown}");
    assert_eq!(count(&shown, "--approve"), 1, "{shown}");
    let waiting = desk.resume(&[]);
    assert_eq!(waiting.status, Some(3), "{waiting:?}");
    assert_eq!(desk.order("A-1042", "status").as_deref(), Some("refunded"));
    assert_eq!(desk.resume(&approvals(&waiting)).status, Some(0));
}

#[test]
fn a_conversation_with_a_server_goes_on_after_its_terminal_is_closed() {
    let desk = Desk::new();
    let look = || asked("lookup_order", r#"{"order":"A-1042"}"#);
    desk.edit(
        "support.rag",
        "refund -> refunds, carrier",
        "refund -> refunds",
    );
    let refund = asked("refund", r#"{"order":"A-1042","amount_cents":12900}"#);
    let (url, _seen) = serve(vec![
        said("refund"),
        look(),
        refund,
        said("It is paid back."),
        said("Your money is on its way."),
        said("other"),
        said("You are welcome."),
    ]);
    let model = format!("default=openai-compatible:tiny@{url}");
    let arguments = ["chat", ".", "--thread", "demo", "--model", &model];
    let mut terminal = Terminal::start(desk.path(), &arguments, &[]);
    terminal.asked(">");
    terminal.say(REFUND);
    terminal.asked(QUESTION);
    terminal.say("yes");
    terminal.see("Your money is on its way.");
    terminal.asked("\n>");
    terminal.hang_up();
    assert_eq!(desk.order("A-1042", "status").as_deref(), Some("refunded"));

    let listed = desk.rag(&["threads"]);
    assert!(listed.stdout.starts_with("demo  completed"), "{listed:?}");
    let told = desk.rag(&["resume", "demo", "--quiet"]);
    assert_eq!(told.stdout, "Your money is on its way.\n");
    let mut terminal = Terminal::start(desk.path(), &arguments, &[]);
    terminal.see("Your money is on its way.");
    terminal.asked("\n>");
    terminal.say("Thanks");
    terminal.see("You are welcome.");
    terminal.asked("\n>");
    terminal.keys(CTRL_D);
    assert_eq!(terminal.end(), 0, "{}", terminal.shown());
}

#[test]
fn ctrl_c_at_the_prompt_leaves_with_the_terminal_as_it_was() {
    let desk = Desk::new();
    let mut terminal = Terminal::chat(&desk);
    terminal.keys("half a line");
    terminal.see("half a line");
    terminal.keys(CTRL_C);
    assert_eq!(terminal.end(), 130, "{}", terminal.shown());
}

#[test]
fn ctrl_c_in_a_run_stops_it_and_it_can_go_on() {
    let desk = slow_desk("60s");
    let mut terminal = Terminal::chat(&desk);
    terminal.say("go");
    terminal.see("wait: slow");
    terminal.keys(CTRL_C);
    assert_eq!(terminal.end(), 130, "{}", terminal.shown());
    let shown = terminal.shown();
    assert!(!shown.contains("wait: slow"), "no line stays:\n{shown}");
    assert!(shown.contains("resume demo"), "{shown}");
    let listed = desk.rag(&["threads"]);
    assert!(listed.stdout.starts_with("demo  unfinished"), "{listed:?}");
}

#[test]
fn a_signal_at_the_prompt_ends_the_conversation() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let desk = Desk::new();
        let mut terminal = Terminal::chat(&desk);
        terminal.signal(signal);
        assert_eq!(terminal.end(), status, "{}", terminal.shown());
    }
}

#[test]
fn a_failed_run_is_tried_again_in_the_conversation() {
    let desk = Desk::new();
    let script = std::fs::read(desk.path().join("script.toml")).unwrap();
    desk.write(
        "script.toml",
        r#"rule = [{ system = "^Triage", text = "other" }, { text = "Half", finish = "length" }]"#,
    );
    let mut terminal = Terminal::chat(&desk);
    terminal.say("/retry");
    terminal.see("error[RAG0401]: there is no thread `demo`");
    terminal.asked("\n>");
    terminal.say("Please refund B-2002");
    terminal.see("error[RAG0509]");
    terminal.see("then `/retry` goes on");
    terminal.asked("\n>");
    terminal.say("/retry");
    terminal.read("a second failure", |terminal| {
        count(&terminal.shown(), "error[RAG0509]") == 2
    });
    terminal.asked("\n>");
    terminal.keys(CTRL_D);
    assert_eq!(terminal.end(), 0, "{}", terminal.shown());

    // The models are read when a conversation begins.
    desk.write("script.toml", script);
    let mut terminal = Terminal::chat(&desk);
    terminal.say("/retry");
    terminal.see("Thank you, we will look into it.");
    terminal.asked("\n>");
    terminal.say("/retry");
    terminal.see("error[RAG0416]");
    terminal.asked("\n>");
    terminal.say("Thanks, and B-2002?");
    terminal.see("2 model calls, 0 tool calls, 68 tokens");
    terminal.asked("\n>");
    terminal.keys(CTRL_D);
    assert_eq!(terminal.end(), 0, "{}", terminal.shown());
    let history = desk.rag(&["threads", "history", "demo"]);
    assert_eq!(count(&history.stdout, "input"), 2, "{history:?}");
}

#[test]
fn a_conversation_goes_back_and_on_from_there() {
    let desk = Desk::new();
    let mut terminal = Terminal::chat(&desk);
    terminal.say(REFUND);
    let decide = |terminal: &mut Terminal, word: &str| {
        terminal.asked(&format!("\"order\":\"A-1042\"}}\n{QUESTION}"));
        terminal.say(word);
        terminal.asked(&format!("{{\"order\":\"A-1042\"}}\n{QUESTION}"));
        terminal.say(word);
    };
    decide(&mut terminal, "no");
    terminal.see("model calls");
    terminal.asked("\n>");
    for (typed, code) in [
        ("/rewind", "error[RAG0001]"),
        ("/rewind 99", "error[RAG0414]"),
        ("/nonsense", "hint: `/help` lists the commands"),
    ] {
        terminal.say(typed);
        terminal.see(code);
        terminal.asked("\n>");
    }
    terminal.say("/help");
    terminal.see("/retry");
    terminal.see("/rewind N [--yes]");
    terminal.asked("\n>");
    terminal.say("/rewind 2");
    terminal.see("thread demo went back to @2, then refunds, carrier");
    decide(&mut terminal, "yes");
    terminal.see("A claim with the carrier is open.");
    terminal.asked("\n>");
    assert!(
        !terminal.shown().contains("go on with:"),
        "{}",
        terminal.shown()
    );
    assert_eq!(desk.order("A-1042", "status").as_deref(), Some("refunded"));

    // What could be done twice needs a yes, as on the command line.
    terminal.say("/rewind 2");
    terminal.see("error[RAG0412]");
    terminal.asked("\n>");
    terminal.say("/rewind 2 --yes");
    terminal.see("may be made once more");
    terminal.asked("\n>");
    terminal.keys(CTRL_D);
    assert_eq!(terminal.end(), 0, "{}", terminal.shown());
    assert_eq!(desk.rag(&["doctor", "--full"]).status, Some(0));
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let desk = slow_desk("60s");
    desk.write(
        "script.toml",
        r#"rule = [
  { last = "user", call = "slow", arguments = "{}" },
  { tool = "slow", call = "pay", arguments = "{}" },
  { text = "done" },
]"#,
    );
    desk.edit("support.rag", "[\"slow\"]", "[\"slow\", \"pay\"]");
    desk.edit("rustagents.toml", "x < 4000000000", "x < 3000000");
    desk.edit(
        "rustagents.toml",
        "[tools.slow]",
        r#"[tools.pay]
kind = "sql"
data = "orders"
effect = "once"
description = "Pay."
arguments = { type = "object", additionalProperties = false }
sql = "UPDATE orders SET status = 'refunded' WHERE id = 'A-1042'"
[tools.slow]"#,
    );
    let mut terminal = Terminal::chat(&desk);
    terminal.say("go");
    terminal.see("wait: slow");
    terminal.say("yes");
    terminal.asked(QUESTION);
    assert_eq!(desk.order("A-1042", "status").as_deref(), Some("paid"));
    terminal.say("no");
    terminal.asked("\n>");
    assert_eq!(desk.order("A-1042", "status").as_deref(), Some("paid"));
}

#[test]
fn an_open_run_is_not_picked_up_with_another_configuration() {
    let desk = Desk::new();
    assert_eq!(desk.run_refund().status, Some(3));
    desk.write(
        "other.toml",
        "[models]\ndefault = \"scripted:script.toml\"\n",
    );
    desk.write(
        "other.rag",
        "graph o { channel messages messages start a node a { kind agent model \"default\" prompt \"Hi.\" next END } }",
    );
    let said = desk.rag(&[
        "chat",
        "other.rag",
        "--config",
        "other.toml",
        "--thread",
        "demo",
    ]);
    assert_eq!(said.status, Some(2), "{said:?}");
    assert!(said.stderr.contains("RAG0408"), "{said:?}");
    assert!(said.stderr.contains("resume demo"), "{said:?}");
}

#[test]
fn a_run_shows_what_is_at_work_and_clears_it_in_the_end() {
    let desk = slow_desk("1s");
    let arguments = ["run", ".", "--thread", "demo", "--input", "go"];
    let mut terminal = Terminal::start(desk.path(), &arguments, &[]);
    terminal.see("wait: slow");
    assert_eq!(terminal.end(), 0, "{}", terminal.shown());
    let shown = terminal.shown();
    assert!(!shown.contains("wait: slow"), "{shown}");
    assert!(shown.contains("✔ wait"), "{shown}");
    assert!(shown.contains("tokens"), "{shown}");
}

#[test]
fn a_terminal_without_a_size_or_with_little_room_keeps_what_stands_above() {
    let desk = slow_desk("200ms");
    for columns in [0, 12] {
        let size = PtySize {
            rows: ROWS.get(),
            cols: columns,
            ..PtySize::default()
        };
        let arguments = ["run", ".", "--input", "go"];
        let mut terminal = Terminal::sized(size, desk.path(), &arguments, &[]);
        assert_eq!(terminal.end(), 0, "{}", terminal.shown());
        let raw = String::from_utf8(terminal.raw).unwrap();
        let moves_up = raw.split("\u{1b}[").skip(1).any(|sequence| {
            sequence
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .starts_with('A')
        });
        assert!(!moves_up, "{columns}: {raw:?}");
    }
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let desk = Desk::new();
    let input = ["run", ".", "--input", "Please refund B-2002"];
    let raw = |extra: &[&str], variables: &[(&str, &str)]| {
        let arguments = [&input[..], extra].concat();
        let mut terminal = Terminal::start(desk.path(), &arguments, variables);
        assert_eq!(terminal.end(), 0, "{}", terminal.shown());
        String::from_utf8(terminal.raw).unwrap()
    };
    let green = "\u{1b}[32m✔";
    assert!(raw(&[], &[]).contains(green));
    assert!(raw(&["--color", "always"], &[("NO_COLOR", "1")]).contains(green));
    for (extra, variables) in [
        (&["--color", "never"][..], &[][..]),
        (&[], &[("NO_COLOR", "1")]),
    ] {
        let raw = raw(extra, variables);
        assert!(raw.contains('✔') && !raw.contains("\u{1b}[32m"), "{raw:?}");
    }
    for service in [&[][..], &[("CI", "true")]] {
        let dumb = raw(&[], &[&[("TERM", "dumb")], service].concat());
        assert!(dumb.contains('✔') && !dumb.contains('\u{1b}'), "{dumb:?}");
    }
}

#[test]
fn what_a_model_says_has_no_power_over_the_terminal() {
    let desk = Desk::new();
    desk.write(
        "script.toml",
        r#"rule = [{ system = "^Triage", text = "other" }, { text = "\u001b[2J\u001b]0;owned\u0007 done" }]"#,
    );
    let mut terminal = Terminal::chat(&desk);
    terminal.say("hello");
    terminal.see("2 model calls");
    let raw = String::from_utf8(terminal.raw.clone()).unwrap();
    assert!(
        !raw.contains("\u{1b}[2J") && !raw.contains("\u{1b}]0;"),
        "{raw:?}"
    );
    assert!(
        terminal.shown().contains("\\u{1b}[2J"),
        "{}",
        terminal.shown()
    );
    terminal.asked("\n>");
    terminal.keys(CTRL_D);
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_conversation_through_pipes_has_the_answers_alone_on_standard_output() {
    let desk = Desk::new();
    let mut command = desk.command(&["chat", ".", "--quiet"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"Please refund B-2002\n\nhello\n").unwrap();
    drop(stdin);
    let said = crate::bench::Said::of(child.wait_with_output().unwrap());
    assert_eq!((said.status, &*said.stderr), (Some(0), ""), "{said:?}");
    assert!(
        said.stdout.contains("Order B-2002 is delivered"),
        "{said:?}"
    );
    assert!(said.stdout.contains("Thank you"), "{said:?}");
}

#[test]
fn a_line_that_is_no_text_is_typed_again_and_ends_a_pipe() {
    let desk = Desk::new();
    let mut terminal = Terminal::chat(&desk);
    terminal.keys.write_all(b"caf\xe9 and more\r").unwrap();
    terminal.see("error[RAG0003]");
    terminal.asked("\n>");
    terminal.say("Please refund B-2002");
    terminal.see("6 model calls");
    terminal.asked("\n>");
    terminal.keys(CTRL_D);
    assert_eq!(terminal.end(), 0, "{}", terminal.shown());

    let mut command = desk.command(&["chat", "."]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"caf\xe9\nhello\n").unwrap();
    drop(stdin);
    let said = crate::bench::Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.status, Some(2), "{said:?}");
    assert!(said.stderr.contains("error[RAG0003]"), "{said:?}");
}

#[test]
fn a_conversation_is_no_json_and_needs_a_messages_channel() {
    let desk = Desk::new();
    for option in ["--json", "--events"] {
        let said = desk.rag(&["chat", ".", option]);
        assert_eq!((said.status, &*said.code()), (Some(2), "RAG0001"));
    }
    desk.write(
        "mute.rag",
        "graph mute { channel x overwrite start a node a { kind interrupt prompt \"?\" output x next END } }",
    );
    let said = desk.rag(&["chat", "mute.rag"]);
    assert_eq!(said.status, Some(2), "{said:?}");
    assert!(said.stderr.contains("no messages channel"), "{said:?}");
}

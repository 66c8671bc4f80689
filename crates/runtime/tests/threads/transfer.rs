use std::{
    io::{self, BufReader, Write},
    sync::Arc,
};

use rustagents_core::{
    code::Coded,
    digest::Digest,
    encode::{MAX_DEPTH, MAX_READ_DEPTH},
    journal::{Content, Journal},
};
use rustagents_runtime::threads::{
    Keep, stats,
    transfer::{
        Counts, ExportError, ImportError, ImportProblem, MAX_LINE_BYTES, export, image, read, write,
    },
};
use rustagents_store::MemoryJournal;
use rustagents_store_sqlite::SqliteJournal;
use serde_json::{Value, json};

use super::{WORD, name};
use crate::bench::Bench;

async fn exported(journal: &dyn Journal) -> String {
    let lines = || Ok(Vec::new());
    let (bytes, counts) = export(journal, &name("t"), lines).await.unwrap();
    // An image of the same thread has the same lines.
    let (image, mut again) = (image(journal, &name("t")).await.unwrap(), Vec::new());
    assert_eq!(write(&image, &mut again).unwrap(), counts);
    assert_eq!(again, bytes);
    assert_eq!(counts, Counts::of(&image));
    String::from_utf8(bytes).unwrap()
}

fn imported(text: &str) -> Result<rustagents_core::journal::ThreadImage, ImportError> {
    read(&mut BufReader::new(text.as_bytes()))
}

#[tokio::test]
async fn a_thread_is_the_same_bytes_whatever_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let memory = Bench::new();
    memory.paid("t", json!("x".repeat(20_000))).await;
    memory.say("t", WORD, json!("ä\u{0}\u{2028}")).await;
    memory
        .live()
        .prune(&name("t"), Keep::Last(4))
        .await
        .unwrap();
    let text = exported(&*memory.journal).await;
    let sqlite = SqliteJournal::open(folder.path().join("j.db")).unwrap();
    sqlite.install(imported(&text).unwrap()).await.unwrap();
    let sqlite = Bench::on(Arc::new(sqlite));
    assert_eq!(exported(&*sqlite.journal).await, text);
    let back = MemoryJournal::new();
    back.install(imported(&text).unwrap()).await.unwrap();
    assert_eq!(exported(&back).await, text);
    sqlite.is_whole("t").await;
    assert_eq!(sqlite.one_more("t").await, memory.one_more("t").await);
}

/// Says how much was written at once at most, and refuses more than it has room for.
struct Room {
    left: usize,
    written: usize,
    most: usize,
}

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.left {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.left -= bytes.len();
        self.written += bytes.len();
        self.most = self.most.max(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn room(left: usize) -> Room {
    Room {
        left,
        written: 0,
        most: 0,
    }
}

#[tokio::test]
async fn a_long_thread_is_never_held_whole() {
    let bench = Bench::new();
    for run in 0..200 {
        let note = format!("{run} {}", "x".repeat(2_000));
        bench.say("t", WORD, json!(note)).await;
    }
    let (journal, thread) = (&*bench.journal, name("t"));
    let (room, counts) = export(journal, &thread, || Ok(room(usize::MAX)))
        .await
        .unwrap();
    assert!(counts.records >= 800, "{counts:?}");
    assert!(
        room.most * 4 < room.written,
        "{} of {}",
        room.most,
        room.written
    );
}

#[tokio::test]
async fn an_export_without_room_says_so() {
    let bench = Bench::new();
    bench.say("t", WORD, json!(1)).await;
    let whole = exported(&*bench.journal).await.len();
    let (journal, thread) = (&*bench.journal, name("t"));
    for left in [0, whole / 2, whole - 1] {
        let error = export(journal, &thread, || Ok(room(left)))
            .await
            .err()
            .unwrap();
        assert!(matches!(error, ExportError::Unwritable(_)), "{error}");
        assert_eq!(error.code().as_str(), "RAG0005");
    }
    assert!(export(journal, &thread, || Ok(room(whole))).await.is_ok());
    let nowhere = || Err::<Room, _>(io::ErrorKind::PermissionDenied.into());
    let error = export(journal, &thread, nowhere).await.err().unwrap();
    assert_eq!(error.code().as_str(), "RAG0005");
    let error = export(journal, &name("nobody"), || Ok(Vec::new())).await;
    assert_eq!(error.unwrap_err().code().as_str(), "RAG0401");
}

#[tokio::test]
async fn bytes_that_are_no_text_come_through() {
    let bench = Bench::new();
    bench.say("t", WORD, json!(1)).await;
    let mut image = image(&*bench.journal, &name("t")).await.unwrap();
    let bytes = vec![0, 255, 10];
    image.contents.push(Content {
        digest: Digest::of(&bytes),
        bytes,
    });
    image.contents.sort_by_key(|content| content.digest);
    let mut text = Vec::new();
    write(&image, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(imported(&text).unwrap(), image);
}

/// The lines of an export, the last one made anew to fit.
fn resealed(mut lines: Vec<String>) -> String {
    let mut digest = rustagents_core::digest::Rolling::default();
    let mut end: Value = serde_json::from_str(&lines.pop().unwrap()).unwrap();
    let mut count = [0_u64; 3];
    for line in &lines {
        digest.push(line.as_bytes());
        for (index, kind) in ["content", "message", "record"].iter().enumerate() {
            count[index] += u64::from(line.starts_with(&format!("{{\"{kind}\"")));
        }
    }
    end["end"] = json!({ "contents": count[0], "messages": count[1], "records": count[2], "digest": digest.digest() });
    lines.push(end.to_string());
    lines.join("\n") + "\n"
}

#[expect(clippy::too_many_lines, reason = "a table of mistakes")]
#[tokio::test]
async fn what_is_not_whole_is_refused_at_its_line() {
    let bench = Bench::new();
    bench.say("t", WORD, json!(1)).await;
    let text = exported(&*bench.journal).await;
    let lines = || text.lines().map(str::to_owned).collect::<Vec<_>>();
    let line = |part: &str| lines().iter().position(|line| line.contains(part)).unwrap();
    let edited = |at: usize, from: &str, to: &str| {
        let mut lines = lines();
        assert!(lines[at].contains(from), "{}", lines[at]);
        lines[at] = lines[at].replace(from, to);
        resealed(lines)
    };
    let without = |at: usize| {
        let mut lines = lines();
        lines.remove(at);
        resealed(lines)
    };
    let last = lines().len() - 1;
    let (message, record) = (line("{\"message\""), line("{\"record\""));
    let cases = [
        (String::new(), 1, "ends here"),
        ("{}\n".into(), 1, "no line of an export"),
        (
            edited(0, "rag.export/1", "rag.export/2"),
            1,
            "its schema is `rag.export/2`",
        ),
        (edited(0, "\"t\"", "\"a@b\""), 1, "holds '@'"),
        (
            edited(0, "\"epoch\":1", "\"epoch\":0"),
            record + 1,
            "its epoch is 1",
        ),
        (
            edited(1, "blueprint", "blueprinT"),
            2,
            "the content's digest",
        ),
        (without(1), last, "which is missing"),
        (
            without(message),
            record,
            "the message m-1, which is missing",
        ),
        (
            edited(message, "m-1", "m-2"),
            message + 2,
            "another one of that id",
        ),
        (
            edited(record, "run.opened", "run.closed"),
            record + 1,
            "its run was not opened before",
        ),
        (
            edited(record + 1, "\"seq\":2", "\"seq\":1"),
            record + 2,
            "behind record 1",
        ),
        (
            edited(record + 1, "\\\"checkpoint\\\":1", "\\\"checkpoint\\\":4"),
            record + 2,
            "",
        ),
        (
            edited(record, "{\"record\"", "{\"recording\""),
            record + 1,
            "no line of an export",
        ),
        (
            text.replace("hello", "hellO"),
            last + 1,
            "the lines are not as many",
        ),
        (lines()[..last].join("\n"), last + 1, "ends here"),
        (format!("{text}x"), last + 2, "does not belong here"),
        (
            text.replace("\"records\":", "\"records\":1"),
            last + 1,
            "records are not as many",
        ),
    ];
    for (text, at, told) in cases {
        let error = imported(&text).unwrap_err();
        assert!(error.to_string().contains(told), "{told}: {error}");
        if !told.is_empty() {
            assert_eq!(error.line, at as u64, "{told}: {error}");
        }
        assert_eq!(error.code().as_str(), "RAG0415");
    }
    let mut mixed = lines();
    mixed.swap(message, record);
    let error = imported(&resealed(mixed)).unwrap_err();
    assert!(error.line > message as u64, "{error}");
    assert!(
        !matches!(error.problem, ImportProblem::Count { .. }),
        "{error}"
    );
}

/// A list of lists, `depth` of them.
fn nested(depth: u8) -> String {
    let depth = usize::from(depth);
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[tokio::test]
async fn a_record_that_is_nested_too_deep_is_refused_at_its_line() {
    let bench = Bench::new();
    bench.say("t", WORD, json!(1)).await;
    let text = exported(&*bench.journal).await;
    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
    let opening = "\\\"target\\\":";
    let at = lines
        .iter()
        .position(|line| line.contains(opening))
        .unwrap();
    let with = |body: String| {
        let mut lines = lines.clone();
        let mine = json!({ "record": { "seq": 1_000, "branch": "main", "namespace": "",
            "key": "note/1", "kind": "note.made", "version": 1, "run": "", "attempt": 1,
            "epoch": 1, "at": 1, "body": body } });
        lines.insert(lines.len() - 1, mine.to_string());
        resealed(lines)
    };
    let refused = |text: &str, line: usize| {
        let error = imported(text).unwrap_err();
        assert!(
            matches!(
                error.problem,
                ImportProblem::TooDeep {
                    limit: MAX_DEPTH,
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(
            (error.code().as_str(), error.line),
            ("RAG0309", line as u64),
            "{error}"
        );
    };
    let taken = MemoryJournal::new();
    let image = imported(&with(nested(MAX_DEPTH))).unwrap();
    taken.install(image).await.unwrap();
    exported(&taken).await;
    for depth in [MAX_DEPTH + 1, MAX_READ_DEPTH, MAX_READ_DEPTH + 1, 255] {
        refused(&with(nested(depth)), lines.len());
        // Where a field that nobody knows hides it, its body could be read.
        let mut hidden = lines.clone();
        let more = format!("\\\"more\\\":{},{opening}", nested(depth));
        hidden[at] = hidden[at].replacen(opening, &more, 1);
        refused(&resealed(hidden), at + 1);
    }
}

#[tokio::test]
async fn a_record_that_is_none_of_its_kind_is_refused_at_its_line() {
    let bench = Bench::new();
    bench.say("t", WORD, json!(1)).await;
    let text = exported(&*bench.journal).await;
    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
    for kind in ["step.intent", "step.released", "step.result", "graph.try"] {
        let mut lines = lines.clone();
        let record = json!({ "record": { "seq": 1_000, "branch": "main", "namespace": "",
            "key": "a/1", "kind": kind, "version": 1, "run": "", "attempt": 1, "epoch": 1,
            "at": 1, "body": "[1]" } });
        let at = lines.len() - 1;
        lines.insert(at, record.to_string());
        let error = imported(&resealed(lines)).unwrap_err();
        assert_eq!(error.code().as_str(), "RAG0415");
        assert!(error.to_string().contains(kind), "{error}");
    }
}

#[test]
fn a_line_without_end_is_read_no_further_than_its_limit() {
    let endless = io::repeat(b' ');
    let error = read(&mut BufReader::with_capacity(1 << 20, endless)).unwrap_err();
    let limit = MAX_LINE_BYTES;
    assert_eq!(
        (error.line, error.problem),
        (1, ImportProblem::TooLong { limit })
    );
}

#[tokio::test]
async fn a_thread_counts_what_it_holds() {
    let bench = Bench::new();
    bench.paid("t", json!(1)).await;
    bench.say("t", WORD, json!(2)).await;
    let counted = stats::stats(&*bench.journal, &name("t")).await.unwrap();
    assert_eq!(counted.records, bench.records().await as u64);
    assert_eq!(
        (counted.runs, counted.checkpoints, counted.contents),
        (2, 5, 2)
    );
    assert_eq!(counted.kinds["effect.intent"], 2);
    assert_eq!(counted.kinds.values().sum::<u64>(), counted.records);
    let both = counted.clone().and(counted.clone());
    assert_eq!((both.threads, both.bytes()), (2, 2 * counted.bytes()));
    let error = stats::stats(&*bench.journal, &name("nobody"))
        .await
        .unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0401");
}

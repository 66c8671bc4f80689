//! What each recording under `spec/wire/` says, however it is cut up.
//!
//! Beside a recording `x.sse` (or `x.json` of a whole answer) stands
//! `x.expected.json`: the response, or the error.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustagents_core::model::{ModelError, ModelResponse};
use rustagents_providers::openai::Dialect;
use serde_json::{Value, json};

use super::{
    ask, model,
    server::{Server, document, events},
};

fn folder(dialect: &Dialect) -> PathBuf {
    let wire = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/wire");
    wire.join(dialect.name)
}

struct Recording {
    name: String,
    bytes: Vec<u8>,
    whole: bool,
    expected: Value,
}

/// The recordings of `dialect`, by name.
fn recordings(dialect: &Dialect) -> Vec<Recording> {
    let entries = fs::read_dir(folder(dialect)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_recording = |path: &PathBuf| path.with_extension("expected.json").exists();
    let mut paths: Vec<_> = paths.filter(is_recording).collect();
    paths.sort();
    paths.iter().map(|path| recording(path)).collect()
}

fn recording(path: &Path) -> Recording {
    let expected = fs::read_to_string(path.with_extension("expected.json")).unwrap();
    Recording {
        name: path.display().to_string(),
        bytes: fs::read(path).unwrap(),
        whole: path
            .extension()
            .is_some_and(|extension| extension == "json"),
        expected: serde_json::from_str(&expected).unwrap(),
    }
}

fn told(result: Result<ModelResponse, ModelError>) -> Value {
    match result {
        Ok(response) => serde_json::to_value(response).unwrap(),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

impl Recording {
    async fn check(&self, pieces: &[&[u8]]) {
        let steps = if self.whole {
            let body = String::from_utf8(pieces.concat()).unwrap();
            document("200 OK", "application/json; charset=utf-8", &body)
        } else {
            events(pieces)
        };
        let told = told(ask(&model(&Server::always(steps))).await);
        assert_eq!(told, self.expected, "{} in {}", self.name, pieces.len());
    }

    async fn check_all(&self, bytes: &[u8]) {
        self.check(&[bytes]).await;
        self.check(&bytes.chunks(1).collect::<Vec<_>>()).await;
    }
}

#[tokio::test]
async fn every_dialect_has_recordings_that_mean_what_they_should() {
    for dialect in Dialect::ALL {
        let recordings = recordings(dialect);
        assert!(!recordings.is_empty(), "`{}` has none", dialect.name);
        for recording in recordings {
            recording.check_all(&recording.bytes).await;
        }
    }
}

#[tokio::test]
async fn line_endings_and_a_byte_order_mark_change_nothing() {
    for recording in recordings(&Dialect::OPENAI).iter().filter(|r| !r.whole) {
        let lines = String::from_utf8(recording.bytes.clone()).unwrap();
        for ending in ["\r\n", "\r"] {
            let bytes = format!("\u{feff}{}", lines.replace('\n', ending));
            recording.check_all(bytes.as_bytes()).await;
        }
    }
}

#[tokio::test]
async fn every_split_point_of_a_stream_gives_the_same_answer() {
    let path = folder(&Dialect::OPENAI).join("characters.sse");
    let recording = recording(&path);
    let bytes = String::from_utf8(recording.bytes.clone()).unwrap();
    for bytes in [bytes.clone(), bytes.replace('\n', "\r\n")] {
        let mut split = 0;
        let script = bytes.clone().into_bytes();
        let server = Server::new(move || {
            split += 1;
            let (start, rest) = script.split_at(split);
            events(&[start, rest])
        });
        let model = model(&server);
        for split in 1..bytes.len() {
            let told = told(ask(&model).await);
            assert_eq!(told, recording.expected, "split after {split}");
        }
    }
}

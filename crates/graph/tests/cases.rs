//! The cases in `spec/graph`, each a graph with what comes of it.

mod case;
mod run;

use std::{fs, path::Path};

use self::{case::Case, run::run};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/graph");

async fn check(path: &Path) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let case: Case = toml::from_str(&text).map_err(|error| error.to_string())?;
    let title = case.title.clone();
    let told = run(case).await;
    told.map_err(|what| format!("{title}\n{what}"))
}

#[tokio::test(start_paused = true)]
async fn every_case_comes_out_as_it_says() {
    let files = fs::read_dir(CASES)
        .unwrap()
        .map(|file| file.unwrap().path());
    let is_case = |path: &Path| path.extension().is_some_and(|name| name == "toml");
    let mut files: Vec<_> = files.filter(|path| is_case(path)).collect();
    files.sort();
    assert!(files.len() >= 57, "{} cases", files.len());
    let mut failed = Vec::new();
    for path in files {
        if let Err(what) = check(&path).await {
            let name = path.file_name().unwrap().to_string_lossy();
            failed.push(format!("{name}: {what}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[tokio::test(start_paused = true)]
async fn the_examples_of_the_pages_come_out_too() {
    for page in ["README.md", "../../docs/guide/graphs/10-testing.md"] {
        let page = fs::read_to_string(format!("{CASES}/{page}")).unwrap();
        let examples: Vec<_> = page.split("```toml\n").skip(1).collect();
        assert!(!examples.is_empty());
        for example in examples {
            let (example, _) = example.split_once("```").unwrap();
            run(parsed(example).unwrap()).await.unwrap();
        }
    }
}

fn parsed(text: &str) -> Result<Case, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

/// A case of one node that writes.
const SMALL: &str = r#"
title = "a node writes"
channels = { seen = "append" }
start = ["a"]
edges = ["a -> END"]
nodes.a.does = [{ writes = { seen = 1 } }]
[[attempts]]
steps = [["a"]]
state = { seen = [1] }
"#;

#[test]
fn a_key_that_nobody_reads_is_an_error() {
    parsed(SMALL).unwrap();
    for (read, unread) in [
        ("title =", "colour = \"red\"\ntitle ="),
        ("nodes.a.does", "nodes.a.dose = 1\nnodes.a.does"),
        ("{ writes =", "{ write ="),
        ("state =", "stats = {}\nstate ="),
        ("\"append\"", "\"appended\""),
        ("nodes.a.does", "nodes.a.graph = 1\nnodes.a.does"),
    ] {
        parsed(&SMALL.replace(read, unread)).unwrap_err();
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_come_out_is_told() {
    let told = async |from: &str, to: &str| {
        let case = parsed(&SMALL.replace(from, to)).unwrap();
        run(case).await.unwrap_err()
    };
    assert_eq!(
        told("[[\"a\"]]", "[[\"b\"]]").await,
        "attempt 1: steps:\n  expected [[\"b\"]]\n     found [[\"a\"]]"
    );
    assert_eq!(
        told("state = { seen = [1] }", "state = {}").await,
        "attempt 1: state:\n  expected {}\n     found {\"seen\": Array [Number(1)]}"
    );
    assert_eq!(
        told("-> END", "-> b").await,
        "faults:\n  expected []\n     found [\"`a` leads to `b`, which does not exist\"]"
    );
    assert_eq!(
        told(
            "nodes.a.does",
            "nodes.a.graph = { title = \"x\", nodes = {} }\nnodes.a.does"
        )
        .await,
        "`a` is a graph, and does something itself"
    );
    assert_eq!(
        told(
            "nodes.a.does =",
            "nodes.a.graph = { title = \"x\", nodes = {} }\n#"
        )
        .await,
        "the graph of `a`: it has no title, input, faults or attempts of its own"
    );
    assert_eq!(
        told("title = \"a node writes\"", "").await,
        "it has no title"
    );
    assert_eq!(
        told("steps =", "fails = \"a\"\nsteps =").await,
        "attempt 1: fails:\n  expected Some(\"a\")\n     found None"
    );
}

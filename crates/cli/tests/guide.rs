//! The guide is true: its files are written and its commands run, chapter by
//! chapter, each in a folder of its own.
//!
//! A fence says what its block is:
//!
//! - `toml file=NAME`, or any other language, is a whole file of the reader's;
//! - `toml append=NAME` is added to the end of one;
//! - `sh` is commands. Each line is run, and has to exit with 0, or with what a
//!   comment `# exit N` at its end says;
//! - everything else, such as `console` for what needs a key, a server or a
//!   terminal, is for reading.
//!
//! The chapters about graphs hold Rust; `runtime` takes them in as tests of its
//! documentation.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::bench::{Desk, Said};

/// The files of the example that a chapter may use as `support/`.
const SUPPORT: &[&str] = &[
    "support.rag",
    "rustagents.toml",
    "script.toml",
    "orders.sql",
];

/// A fenced block: what stands after its fence, and its lines.
struct Block {
    line: usize,
    info: String,
    text: String,
}

impl Block {
    /// The value of `key=VALUE` after the fence.
    fn value(&self, key: &str) -> Option<&str> {
        let words = self.info.split_whitespace();
        words
            .filter_map(|word| word.split_once('='))
            .find_map(|(name, value)| (name == key).then_some(value))
    }

    fn language(&self) -> &str {
        self.info.split_whitespace().next().unwrap_or_default()
    }
}

fn guide() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide")
}

/// The pages in a folder, by name.
fn pages(folder: &Path) -> Vec<(String, String)> {
    let mut pages: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    pages.sort();
    pages
}

/// The fenced blocks of a page, in order.
#[track_caller]
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                open = Some(Block {
                    line: index + 1,
                    info: info.to_owned(),
                    text: String::new(),
                });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a fence is never closed");
    blocks
}

/// A command and the status that it says it has.
fn command(line: &str) -> (&str, i32) {
    match line.rsplit_once("# exit ") {
        Some((command, status)) => (command.trim_end(), status.trim().parse().unwrap()),
        None => (line, 0),
    }
}

/// A line as a reader's shell runs it, `rag` being this program.
fn shell(desk: &Desk, line: &str) -> Said {
    let program = Path::new(env!("CARGO_BIN_EXE_rag")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .current_dir(desk.path())
        .env("PATH", format!("{}:{path}", program.display()))
        .env("NO_COLOR", "1")
        .env_remove("RAG_FAULT")
        .stdin(std::process::Stdio::null());
    Said::of(shell.output().unwrap())
}

/// A folder with nothing but `support/`.
fn folder() -> Desk {
    let desk = Desk::new();
    fs::create_dir(desk.path().join("support")).unwrap();
    for name in SUPPORT {
        let (from, to) = (desk.path().join(name), Path::new("support").join(name));
        fs::rename(from, desk.path().join(to)).unwrap();
    }
    desk
}

/// Does what a page says, and how many commands that were.
fn follow(name: &str, page: &str) -> usize {
    let desk = folder();
    let mut ran = 0;
    for block in blocks(page) {
        let place = format!("{name}:{}", block.line);
        if let Some(file) = block.value("file") {
            fs::create_dir_all(desk.path().join(file).parent().unwrap()).unwrap();
            desk.write(file, &block.text);
        } else if let Some(file) = block.value("append") {
            let before = fs::read_to_string(desk.path().join(file));
            let before = before.unwrap_or_else(|error| panic!("{place}: {file}: {error}"));
            desk.write(file, before + &block.text);
        } else if block.language() == "sh" {
            for line in block.text.lines().filter(|line| !line.is_empty()) {
                let (command, status) = command(line);
                let said = shell(&desk, command);
                assert_eq!(said.status, Some(status), "{place}: {line}: {said:?}");
                ran += 1;
            }
        }
    }
    ran
}

#[test]
fn every_command_of_the_guide_works() {
    let chapters = pages(&guide());
    let chapters: Vec<_> = chapters
        .iter()
        .filter(|(name, _)| name != "README.md")
        .collect();
    assert!(!chapters.is_empty(), "the guide has no chapters");
    // Chapters know nothing of each other, and some of them wait.
    std::thread::scope(|scope| {
        for (name, page) in chapters {
            scope.spawn(move || assert!(follow(name, page) > 0, "{name} has no commands"));
        }
    });
}

#[test]
fn the_index_of_the_guide_names_every_chapter_and_links_lead_somewhere() {
    let guide = guide();
    let index = fs::read_to_string(guide.join("README.md")).unwrap();
    for (folder, prefix) in [
        ("", ""),
        ("graphs", "graphs/"),
        ("../migration", "../migration/"),
    ] {
        let folder = guide.join(folder);
        for (name, page) in pages(&folder) {
            let link = format!("]({prefix}{name})");
            assert!(name == "README.md" || index.contains(&link), "{name}");
            for (_, rest) in page
                .match_indices("](")
                .map(|(at, _)| page.split_at(at + 2))
            {
                let target = rest.split(')').next().unwrap();
                let target = target.split('#').next().unwrap();
                let local = !target.is_empty() && !target.contains("://");
                assert!(
                    !local || folder.join(target).exists(),
                    "{name}: `{target}` leads nowhere"
                );
            }
        }
    }
}

#[test]
fn the_examples_of_every_chapter_about_graphs_are_tests() {
    let taken = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/src/guide.rs");
    let taken = fs::read_to_string(taken).unwrap();
    for (name, page) in pages(&guide().join("graphs")) {
        let chapter = format!("/docs/guide/graphs/{name}\")]");
        assert!(taken.contains(&chapter), "{name} is taken in by nobody");
        let blocks = blocks(&page);
        assert!(!blocks.is_empty(), "{name} has no examples");
        for block in blocks {
            let place = format!("{name}:{}", block.line);
            // A graph as a case: the tests of `graph` run those of this chapter.
            let is_case = name == "10-testing.md" && block.info == "toml";
            assert!(is_case || block.info == "rust", "{place} is no test");
        }
    }
}

#[test]
fn a_status_stands_in_a_comment_at_the_end() {
    assert_eq!(command("rag check a"), ("rag check a", 0));
    assert_eq!(command("rag run a  # exit 3"), ("rag run a", 3));
}

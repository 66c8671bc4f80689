//! The guide's commands work, in order, in an empty folder for each chapter.

use std::{fs, path::Path, process::Command};

use tempfile::TempDir;

/// A fenced block: what stands after the fence's marks, and its lines.
struct Block {
    info: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(info), None) => {
                let (info, text) = (info.to_owned(), String::new());
                open = Some(Block { info, text });
            }
            (None, Some(block)) => block.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block has no end");
    blocks
}

/// The command and its exit status.
fn command(line: &str) -> (&str, i32) {
    match line.rsplit_once(" # exit ") {
        Some((command, status)) => (command, status.parse().unwrap()),
        None => (line, 0),
    }
}

fn run(folder: &Path, chapter: &str, line: &str) {
    let (line, status) = command(line);
    let rag = Path::new(env!("CARGO_BIN_EXE_rag"));
    let path = std::env::var("PATH").unwrap();
    let said = Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env(
            "PATH",
            format!("{}:{path}", rag.parent().unwrap().display()),
        )
        .env_remove("RAG_FAULT")
        .output()
        .unwrap();
    assert_eq!(
        said.status.code(),
        Some(status),
        "{chapter}: {line}\n{said:?}"
    );
}

#[test]
fn every_command_of_the_guide_ends_as_it_says() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let mut commands = 0;
    for entry in fs::read_dir(guide).unwrap() {
        let path = entry.unwrap().path();
        let chapter = path.file_name().unwrap().to_string_lossy().into_owned();
        let folder = TempDir::new().unwrap();
        for block in blocks(&fs::read_to_string(&path).unwrap()) {
            if let Some((_, name)) = block.info.split_once(" file=") {
                fs::write(folder.path().join(name), block.text).unwrap();
            } else if block.info == "sh" {
                for line in block.text.lines() {
                    run(folder.path(), &chapter, line);
                    commands += 1;
                }
            }
        }
    }
    assert!(commands > 20, "{commands} commands");
}

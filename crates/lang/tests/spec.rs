//! Runs the blocks of `spec/language`.
//!
//! A `rag` block compiles without a diagnostic, unless the next block is `text`,
//! which holds exactly what is said about it. The next block may also be `json`,
//! which is its blueprint.

use std::{fs, path::PathBuf};

use rustagents_core::Code;
use rustagents_lang::compile;
use serde_json::Value;

use crate::{capabilities, diagnostics::rendered};

/// A fenced block, and the line of its fence.
struct Block {
    language: String,
    text: String,
    line: usize,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for (index, line) in page.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(language) => {
                is_open = true;
                blocks.push(Block {
                    language: language.to_owned(),
                    text: String::new(),
                    line: index + 1,
                });
            }
            None if is_open => {
                let block = blocks.last_mut().unwrap();
                block.text += line;
                block.text.push('\n');
            }
            None => {}
        }
    }
    assert!(!is_open, "the last block is closed");
    blocks
}

/// The pages: name and text.
fn pages() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/language");
    let mut pages: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    pages.sort();
    assert!(pages.len() >= 5);
    pages
}

/// Checks a `rag` block against the block after it.
fn check(place: &str, source: &str, next: Option<&Block>) {
    let said = rendered(source);
    let expected = next
        .filter(|block| block.language == "text")
        .map_or("", |block| block.text.as_str());
    assert_eq!(said, expected.trim_end(), "{place}: said is\n{said}\n");
    if let Some(block) = next.filter(|block| block.language == "json") {
        let blueprint = compile(source, &capabilities()).blueprint.unwrap();
        let expected: Value = serde_json::from_str(&block.text).unwrap();
        let found = serde_json::to_value(&blueprint).unwrap();
        assert_eq!(found, expected, "{place}: the blueprint is\n{found:#}\n");
    }
}

#[test]
fn every_block_of_the_specification_holds() {
    for (name, page) in pages() {
        let blocks = blocks(&page);
        assert!(!blocks.is_empty(), "{name}");
        let mut previous = "";
        for (index, block) in blocks.iter().enumerate() {
            let place = format!("{name}:{}", block.line);
            match block.language.as_str() {
                "rag" => check(&place, &block.text, blocks.get(index + 1)),
                "text" | "json" => assert_eq!(previous, "rag", "{place}: of no plan"),
                other => panic!("{place}: a block of `{other}`"),
            }
            previous = &block.language;
        }
    }
}

#[test]
fn every_code_of_the_language_is_in_the_specification() {
    let blocks: Vec<_> = pages()
        .into_iter()
        .flat_map(|(_, page)| blocks(&page))
        .collect();
    let is_said = |code: Code| {
        let sign = format!("[{code}]: ");
        blocks
            .iter()
            .any(|block| block.language == "text" && block.text.contains(&sign))
    };
    let missing: Vec<_> = Code::ALL
        .iter()
        .filter(|code| code.as_str().starts_with("RAG01") && !is_said(**code))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

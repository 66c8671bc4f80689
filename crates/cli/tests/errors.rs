//! Codes, pages and the places that use them stay together.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use rustagents_core::Code;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn each_code_has_a_page_with_its_title_and_each_page_a_code() {
    let folder = root().join("docs/reference/errors");
    for code in Code::ALL {
        let path = folder.join(format!("{code}.md"));
        let page = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let title = format!("# {code}: {}", code.title());
        assert_eq!(page.lines().next(), Some(title.as_str()));
        for part in ["## What", "## Why", "## Example", "## What to do"] {
            assert!(
                page.contains(&format!("\n{part}\n")),
                "{code}.md has no `{part}`"
            );
        }
    }
    let pages = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for page in pages.filter(|page| page.file_name().unwrap() != "README.md") {
        let name = page.file_stem().unwrap().to_str().unwrap();
        assert!(
            Code::parse(name).is_some(),
            "{} is the page of no code",
            page.display()
        );
    }
}

#[test]
fn codes_are_unique() {
    let texts: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(texts.len(), Code::ALL.len());
}

#[test]
fn each_code_is_used_outside_its_catalogue() {
    let mut sources = String::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && name != "tests" {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && name != "code.rs" {
                sources += &fs::read_to_string(path).unwrap();
            }
        }
    }
    for code in Code::ALL {
        let variant = format!("Code::{code:?}");
        let used = sources.match_indices(&variant).any(|(at, _)| {
            let next = sources[at + variant.len()..].chars().next();
            !next.is_some_and(char::is_alphanumeric)
        });
        assert!(used, "nothing says {variant}");
    }
}

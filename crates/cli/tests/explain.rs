//! `rag explain`: each code has its page in the program itself.

use std::{fs, path::Path};

use rustagents_core::Code;
use serde_json::json;

use crate::bench::Desk;

fn page(code: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/errors");
    fs::read_to_string(folder.join(format!("{code}.md"))).unwrap()
}

#[test]
fn a_code_is_explained_by_its_page_however_it_is_written() {
    let desk = Desk::new();
    let before = desk.files();
    for given in ["RAG0102", "rag0102", "0102", "102"] {
        let said = desk.rag(&["explain", given]);
        assert_eq!((said.status, &*said.stderr), (Some(0), ""), "{said:?}");
        assert_eq!(said.stdout, page("RAG0102"));
    }
    assert!(desk.files() == before, "an explanation writes nothing");
}

#[test]
fn every_code_is_explained() {
    let desk = Desk::new();
    for code in Code::ALL {
        let said = desk.rag(&["explain", code.as_str()]);
        assert_eq!(said.status, Some(0), "{said:?}");
        assert_eq!(said.stdout, page(code.as_str()));
    }
}

#[test]
fn the_json_has_the_title_and_the_page() {
    let said = Desk::new().rag(&["explain", "805", "--json"]);
    assert_eq!((said.status, &*said.stderr), (Some(0), ""), "{said:?}");
    let expected = json!({
        "schema": "rag.explain/1",
        "code": "RAG0805",
        "title": "Too many tasks in one step",
        "page": page("RAG0805"),
    });
    assert_eq!(said.json(), expected);
}

#[test]
fn an_unknown_code_is_a_mistake_with_the_nearest_codes() {
    let desk = Desk::new();
    let nearest = "hint: the nearest are `RAG0601`, `RAG0603`, `RAG0604`";
    for (given, hint) in [
        ("RAG0602", nearest),
        ("602", nearest),
        ("E0308", "hint: a code looks like `RAG0102`"),
        ("", "hint: a code looks like `RAG0102`"),
    ] {
        let said = desk.rag(&["explain", given]);
        assert_eq!((said.status, &*said.stdout), (Some(2), ""), "{said:?}");
        let expected = format!("error[RAG0001]: there is no code `{given}`\n{hint}\n");
        assert_eq!(said.stderr, expected);

        let said = desk.rag(&["explain", given, "--json"]);
        assert_eq!((said.status, &*said.stderr), (Some(2), ""), "{said:?}");
        assert_eq!(said.code(), "RAG0001");
    }
}

//! `rag store`: what agents remember across threads.

use serde_json::{Value, json};

use crate::bench::{Desk, REFUND, Said};

/// Both kinds of stores that last.
const STORES: [&str; 2] = ["sqlite:kept/desk.db", "file:kept/desk"];

fn store(desk: &Desk, address: &str, arguments: &[&str]) -> Said {
    desk.rag(&[&["store"], arguments, &["--store", address, "--json"]].concat())
}

fn mistake(said: &Said, code: &str) {
    assert_eq!((said.status, said.code().as_str()), (Some(2), code));
}

fn values(said: &Said) -> Vec<Value> {
    let items = said.json()["items"].as_array().unwrap().clone();
    items
        .into_iter()
        .map(|item| item["value"].clone())
        .collect()
}

#[test]
fn items_are_put_shown_listed_and_deleted() {
    for address in STORES {
        let desk = Desk::new();
        let rag = |arguments: &[&str]| store(&desk, address, arguments);
        assert_eq!(values(&rag(&["list"])), [json!(null); 0]);
        assert!(!desk.path().join("kept").exists(), "looking makes nothing");
        let put = rag(&["put", "users/42", "drink", "\"tea\""]);
        assert_eq!(put.json()["is"], json!({ "version": 1 }));
        rag(&["put", r#"["users","4/2"]"#, "drink", "{\"cups\":2}"]);
        rag(&["put", "", "top", "1"]);
        let item = rag(&["get", "users/42", "drink"]).json()["item"].clone();
        assert_eq!(
            (&item["value"], &item["version"]),
            (&json!("tea"), &json!(1))
        );
        assert_eq!(
            values(&rag(&[])),
            [json!(1), json!({ "cups": 2 }), json!("tea")]
        );
        assert_eq!(values(&rag(&["list", "users/42"])), [json!("tea")]);
        let some = rag(&["list", "users", "--limit", "1"]);
        assert_eq!(
            (values(&some).len(), &some.json()["more"]),
            (1, &json!(true))
        );

        // What is not as expected is not written.
        mistake(
            &rag(&["put", "users/42", "drink", "1", "--expect", "0"]),
            "RAG0312",
        );
        mistake(
            &rag(&["delete", "users/42", "drink", "--expect", "7"]),
            "RAG0312",
        );
        let put = rag(&[
            "put", "users/42", "drink", "1", "--expect", "1", "--ttl", "600",
        ]);
        assert_eq!(put.json()["is"]["version"], 2);
        let item = rag(&["get", "users/42", "drink"]).json()["item"].clone();
        assert_eq!(item["ttl_ms"], 600_000);
        assert_eq!(rag(&["delete", "users/42", "drink"]).status, Some(0));
        mistake(&rag(&["delete", "users/42", "drink"]), "RAG0316");
        mistake(&rag(&["get", "users/42", "drink"]), "RAG0316");

        // A journal can still be made beside it, and it stays out of its way.
        let run = ["run", ".", "--thread", "demo", "--input", REFUND];
        let run = desk.rag(&[&run[..], &["--store", address]].concat());
        assert_eq!(run.status, Some(3), "{run:?}");
        let threads = desk.rag(&["threads", "--store", address, "--json"]).json();
        assert_eq!(threads["threads"].as_array().unwrap().len(), 1);
        assert_eq!(values(&rag(&[])).len(), 2);
    }
}

#[test]
fn mistakes_have_codes() {
    let desk = Desk::new();
    let rag = |arguments: &[&str]| store(&desk, "sqlite:s.db", arguments);
    mistake(&rag(&["put", "a", "k", "tea"]), "RAG0001");
    mistake(&rag(&["put", "a//b", "k", "1"]), "RAG0311");
    mistake(&rag(&["put", "[1]", "k", "1"]), "RAG0001");
    mistake(&rag(&["get", "a", ""]), "RAG0311");
    mistake(&store(&desk, "memory:", &["list"]), "RAG0310");
    assert!(!desk.path().join("s.store.db").exists());
    let person = desk.rag(&["store", "get", "a", "k"]);
    assert!(person.stderr.contains("error[RAG0316]"), "{person:?}");
}

#[test]
fn a_run_that_asks_for_nothing_opens_no_store() {
    let desk = Desk::new();
    desk.run_refund();
    assert!(desk.path().join(".rustagents/journal.db").exists());
    assert!(!desk.path().join(".rustagents/store.db").exists());
    desk.rag(&["store", "put", "users/42", "drink", "\"tea\""]);
    assert!(desk.path().join(".rustagents/store.db").exists());
    let list = desk.rag(&["store"]);
    assert_eq!(list.stdout, "users/42:drink  v1  \"tea\"\n");
}

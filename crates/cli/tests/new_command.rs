//! `rag new`: what it makes runs at once, and nothing is lost to it.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::json;

use crate::bench::{Desk, Said, approvals};

const TEMPLATES: [&str; 3] = ["agent", "approval", "chat"];

/// The program, called in a folder below the desk's.
fn rag_in(desk: &Desk, folder: &str, arguments: &[&str]) -> Said {
    let mut command = desk.command(arguments);
    let folder = desk.path().join(folder);
    Said::of(command.current_dir(folder).output().unwrap())
}

/// A line as a shell runs it there, `rag` being this program.
fn shell_in(desk: &Desk, folder: &str, line: &str) -> Said {
    let program = Path::new(env!("CARGO_BIN_EXE_rag"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", line])
        .current_dir(desk.path().join(folder))
        .env("PATH", path)
        .env("NO_COLOR", "1");
    Said::of(command.output().unwrap())
}

#[test]
fn every_template_is_clean_and_runs_by_the_line_that_is_printed() {
    for template in TEMPLATES {
        let desk = Desk::new();
        let made = desk.rag(&["new", "shop", "--template", template]);
        assert_eq!((made.status, &*made.stdout), (Some(0), ""), "{made:?}");
        let checked = desk.rag(&["check", "shop", "--json"]);
        assert_eq!(checked.status, Some(0), "{checked:?}");
        let found = &checked.json()["files"];
        assert_eq!(
            *found,
            json!([{"path": "shop/shop.rag", "diagnostics": []}])
        );

        let line = made.stderr.lines().last().unwrap().trim();
        let said = shell_in(&desk, ".", &format!("{line} --thread demo --json"));
        if template == "approval" {
            assert_eq!(said.status, Some(3), "{said:?}");
            let line = said.interrupts()[0]["resume"].as_str().unwrap().to_owned();
            let done = shell_in(&desk, ".", &line);
            assert_eq!(done.status, Some(0), "{done:?}");
            let answer = "Ordered. Of the item desk lamp there will be 24.\n";
            assert_eq!(done.stdout, answer);
        } else {
            assert_eq!(said.status, Some(0), "{said:?}");
            assert!(
                said.json()["output"].as_str().unwrap().len() > 10,
                "{said:?}"
            );
        }
    }
}

#[test]
fn the_commands_of_every_readme_work_in_the_new_folder() {
    for template in TEMPLATES {
        let desk = Desk::new();
        let arguments = ["new", "shop", "--template", template, "--quiet"];
        assert_eq!(desk.rag(&arguments).status, Some(0));
        let page = fs::read_to_string(desk.path().join("shop/README.md")).unwrap();
        assert!(page.starts_with("# shop\n"), "{page}");
        let lines: Vec<_> = page
            .lines()
            .filter(|line| line.starts_with("rag "))
            .collect();
        assert!(!lines.is_empty(), "{page}");
        for line in lines {
            let said = shell_in(&desk, "shop", line);
            let status = if template == "approval" { 3 } else { 0 };
            assert_eq!(said.status, Some(status), "{line}: {said:?}");
        }
    }
}

#[test]
fn a_refused_order_changes_nothing() {
    let desk = Desk::new();
    desk.rag(&["new", "shop", "--template", "approval"]);
    let input = "Please order 20 desk lamps";
    let run = ["run", ".", "--thread", "demo", "--input", input, "--json"];
    let said = rag_in(&desk, "shop", &run);
    let call = approvals(&said)[1].split('@').next().unwrap().to_owned();
    let deny = format!("{call}=too many");
    let done = rag_in(&desk, "shop", &["resume", "demo", "--deny", &deny]);
    assert_eq!(done.status, Some(0), "{done:?}");
    assert!(done.stdout.contains("Nothing was ordered"), "{done:?}");
    assert!(done.stdout.contains("too many"), "{done:?}");
}

#[test]
fn the_models_that_a_configuration_proposes_are_known() {
    for template in TEMPLATES {
        let desk = Desk::new();
        desk.rag(&["new", "shop", "--template", template]);
        let config = fs::read_to_string(desk.path().join("shop/rustagents.toml")).unwrap();
        let proposed = "# default = ";
        assert_eq!(config.matches(proposed).count(), 2, "{config}");
        for (number, (at, _)) in config.match_indices(proposed).enumerate() {
            let mut chosen = config.replace("\ndefault = ", "\nfirst = ");
            // One letter fewer stands before it now.
            chosen.replace_range(at - 2..at, "");
            desk.write("shop/rustagents.toml", &chosen);
            let said = desk.rag(&["check", "shop"]);
            assert_eq!(said.status, Some(0), "{number}: {said:?}\n{chosen}");
            assert!(chosen.contains("\ndefault = "), "{chosen}");
        }
    }
}

#[test]
fn the_object_names_the_folder_and_its_files() {
    let desk = Desk::new();
    fs::create_dir(desk.path().join("deep")).unwrap();
    let said = desk.rag(&["new", "deep/shop", "--json"]);
    assert_eq!((said.status, &*said.stderr), (Some(0), ""), "{said:?}");
    let files = [
        ".gitignore",
        "README.md",
        "rustagents.toml",
        "script.toml",
        "shop.rag",
        "stock.sql",
    ];
    let expected = json!({"schema": "rag.new/1", "folder": "deep/shop", "files": files});
    assert_eq!(said.json(), expected);
    let mut found: Vec<_> = fs::read_dir(desk.path().join("deep/shop"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, files);
    let plan = fs::read_to_string(desk.path().join("deep/shop/shop.rag")).unwrap();
    assert!(plan.contains("graph shop {"), "{plan}");
    assert!(!plan.contains("__name__"), "{plan}");
    assert_eq!(fs::read_dir(desk.path().join("deep")).unwrap().count(), 1);
}

#[test]
fn an_empty_folder_is_filled() {
    let desk = Desk::new();
    fs::create_dir(desk.path().join("shop")).unwrap();
    assert_eq!(desk.rag(&["new", "shop/"]).status, Some(0));
    assert_eq!(desk.rag(&["check", "shop"]).status, Some(0));
}

#[test]
fn what_is_there_already_is_refused_and_stays() {
    let desk = Desk::new();
    fs::create_dir(desk.path().join("full")).unwrap();
    desk.write("full/note.txt", "mine");
    desk.write("file", "mine");
    fs::create_dir(desk.path().join("empty")).unwrap();
    symlink("empty", desk.path().join("link")).unwrap();
    let before = desk.files();
    for folder in ["full", "full/", "file", "link"] {
        let said = desk.rag(&["new", folder, "--json"]);
        assert_eq!(
            (said.status, said.code()),
            (Some(2), "RAG0001".into()),
            "{said:?}"
        );
        assert!(desk.files() == before, "{folder}: something was written");
    }
}

#[test]
fn a_name_that_no_graph_can_have_is_refused_with_one_that_it_can() {
    let desk = Desk::new();
    let before = desk.files();
    for (name, like) in [
        ("my-shop", "`my_shop`"),
        ("deep/3d", "`graph_3d`"),
        ("END", "`my_end`"),
        ("naïve", "`na_ve`"),
        ("a b", "`a_b`"),
        (".", "`my_graph`"),
        ("..", "`my_graph`"),
        ("/", "`my_graph`"),
    ] {
        let said = desk.rag(&["new", name, "--json"]);
        assert_eq!(
            (said.status, said.code()),
            (Some(2), "RAG0001".into()),
            "{said:?}"
        );
        let hint = said.json()["error"]["hint"].as_str().unwrap().to_owned();
        assert!(hint.ends_with(&format!("such as {like}")), "{hint}");
    }
    assert!(desk.files() == before);
    // The words of the language are no names of its own.
    for name in ["graph", "node", "_", "start", "kind2"] {
        assert_eq!(desk.rag(&["new", name]).status, Some(0));
        let said = desk.rag(&["check", name]);
        assert_eq!(said.status, Some(0), "{said:?}");
    }
}

#[test]
fn an_unknown_template_is_refused_with_the_known_ones() {
    let desk = Desk::new();
    let before = desk.files();
    let said = desk.rag(&["new", "shop", "--template", "swarm"]);
    assert_eq!((said.status, &*said.stdout), (Some(2), ""), "{said:?}");
    for template in TEMPLATES {
        assert!(said.stderr.contains(template), "{said:?}");
    }
    let said = desk.rag(&["new", "shop", "--template", "swarm", "--json"]);
    assert_eq!((said.status, said.code()), (Some(2), "RAG0001".into()));
    assert!(desk.files() == before);
}

#[test]
fn a_folder_in_no_folder_is_refused() {
    let desk = Desk::new();
    let before = desk.files();
    for folder in ["nowhere/shop", "support.rag/shop"] {
        let said = desk.rag(&["new", folder, "--json"]);
        assert_eq!(
            (said.status, said.code()),
            (Some(2), "RAG0005".into()),
            "{said:?}"
        );
    }
    assert!(desk.files() == before);
}

//! The arrows between the crates, and what stays out of which.

use std::collections::BTreeMap;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// Each crate with the crates of ours that it may know.
const ARROWS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("syntax", &[]),
    ("macros", &[]),
    ("http", &[]),
    ("registry", &["core"]),
    ("config", &["core", "registry"]),
    ("lang", &["core", "registry", "syntax"]),
    ("tools", &["core", "http"]),
    ("providers", &["core", "http"]),
    ("store", &["core"]),
    ("store-file", &["core", "store"]),
    ("store-sqlite", &["core", "store"]),
    ("testkit", &["core"]),
    ("testkit-graph", &["graph", "runtime", "store", "testkit"]),
    ("agent", &["core", "registry"]),
    ("graph", &["core", "macros", "registry"]),
    ("runtime", &["agent", "core", "graph", "lang", "registry"]),
    (
        "cli",
        &[
            "config",
            "core",
            "lang",
            "providers",
            "registry",
            "runtime",
            "store",
            "store-file",
            "store-sqlite",
            "tools",
        ],
    ),
];

/// External crates, and the only crates of ours that may know them.
const KEPT: &[(&str, &[&str])] = &[
    ("anstream", &["cli"]),
    ("anstyle", &["cli"]),
    ("base64", &["runtime", "tools"]),
    ("clap", &["cli"]),
    ("indicatif", &["cli"]),
    ("httpdate", &["providers"]),
    ("jsonschema", &["agent"]),
    ("mimalloc", &["cli"]),
    ("minijinja", &["providers", "tools"]),
    ("percent-encoding", &["tools"]),
    ("proc-macro2", &["macros"]),
    ("quote", &["macros"]),
    ("reqwest", &["http", "providers", "tools"]),
    ("rowan", &["syntax"]),
    ("rusqlite", &["store-sqlite", "tools"]),
    ("rustix", &["cli", "tools"]),
    ("rustls", &["http"]),
    ("rustls-platform-verifier", &["http"]),
    ("rustyline", &["cli"]),
    ("schemars", &["agent", "graph"]),
    ("syn", &["macros"]),
    (
        "tokio",
        &[
            "cli",
            "http",
            "providers",
            "runtime",
            "store",
            "store-file",
            "store-sqlite",
            "testkit",
            "tools",
        ],
    ),
    ("toml", &["config", "providers"]),
    ("uuid", &["runtime"]),
];

/// What nothing of ours may depend on, however deep.
const BANNED: &[&str] = &["async-std", "openssl-sys", "aws-lc-sys"];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .exec()
        .unwrap()
}

/// The normal dependencies of each crate of ours.
fn dependencies(metadata: &Metadata) -> BTreeMap<String, Vec<String>> {
    let packages = metadata.workspace_packages().into_iter();
    let packages = packages.filter(|package| package.name.as_str() != "rustagents-bench");
    packages
        .map(|package| {
            let normal = package
                .dependencies
                .iter()
                .filter(|d| d.kind == DependencyKind::Normal);
            (
                package.name.to_string(),
                normal.map(|dependency| dependency.name.clone()).collect(),
            )
        })
        .collect()
}

#[test]
fn arrows_point_where_the_house_plan_says() {
    let all = dependencies(&metadata());
    assert_eq!(all.len(), ARROWS.len(), "each crate stands in the table");
    for (name, allowed) in ARROWS {
        for dependency in &all[&format!("rustagents-{name}")] {
            let Some(ours) = dependency.strip_prefix("rustagents-") else {
                continue;
            };
            assert!(allowed.contains(&ours), "`{name}` must not know `{ours}`");
        }
    }
}

#[test]
fn external_crates_stay_where_they_belong() {
    for (package, dependencies) in dependencies(&metadata()) {
        let name = package.strip_prefix("rustagents-").unwrap();
        for (external, keepers) in KEPT {
            if dependencies.iter().any(|dependency| dependency == external) {
                assert!(
                    keepers.contains(&name),
                    "`{name}` must not know `{external}`"
                );
            }
        }
    }
}

#[test]
fn nothing_banned_is_in_the_build() {
    let metadata = metadata();
    for package in &metadata.packages {
        assert!(
            !BANNED.contains(&package.name.as_str()),
            "`{}` is banned",
            package.name
        );
    }
}

#[test]
fn every_licence_is_permissive() {
    const PERMISSIVE: &[&str] = &[
        "MIT",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "Zlib",
        "Unicode-3.0",
        "CC0-1.0",
        "Unlicense",
        "BSL-1.0",
        "CDLA-Permissive-2.0",
        "MIT-0",
    ];
    for package in &metadata().packages {
        let licence = package.license.clone().unwrap_or_default();
        let alternatives = licence.split(" OR ").flat_map(|choice| choice.split('/'));
        let mut choices = alternatives.map(|choice| choice.trim_matches(|c| c == '(' || c == ')'));
        let permissive = choices.any(|choice| {
            choice.split(" AND ").all(|part| {
                PERMISSIVE.contains(&part.trim().trim_matches(|c| c == '(' || c == ')'))
            })
        });
        assert!(permissive, "`{}` is under `{licence}`", package.name);
    }
}

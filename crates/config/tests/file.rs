//! The file itself: found, read, refused.

use std::{fs, path::Path};

use rustagents_config::{Config, ConfigError, FILE_NAME, MAX_BYTES};
use rustagents_core::{Code, Coded};
use tempfile::TempDir;

fn folder_with(bytes: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE_NAME), bytes).unwrap();
    folder
}

fn load_error(bytes: &[u8]) -> ConfigError {
    let folder = folder_with(bytes);
    Config::load(&folder.path().join(FILE_NAME)).unwrap_err()
}

#[test]
fn a_file_is_loaded_with_its_folder() {
    let folder = folder_with(b"data.orders.seed = \"sub/orders.sql\"");
    let config = Config::load(&folder.path().join(FILE_NAME)).unwrap();
    assert_eq!(config.folder, folder.path());
    assert_eq!(config.data[0].seed, folder.path().join("sub/orders.sql"));
}

#[test]
fn a_missing_file_says_which_and_why() {
    let path = Path::new("/nowhere/rustagents.toml");
    let error = Config::load(path).unwrap_err();
    assert_eq!(error.code(), Code::FileUnreadable);
    assert_eq!(
        error.to_string(),
        "the configuration `/nowhere/rustagents.toml` cannot be read"
    );
    assert!(
        error.hint().unwrap().contains("No such file"),
        "{:?}",
        error.hint()
    );
    assert_eq!(error.place(), None);
    assert_eq!(error.path(), Some(path));
}

#[test]
fn a_folder_is_not_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let error = Config::load(folder.path()).unwrap_err();
    assert!(matches!(error, ConfigError::Unreadable { .. }), "{error:?}");
}

#[test]
fn a_file_that_is_not_utf8_says_where() {
    let error = load_error("[models]\nä = \"\u{e9}".as_bytes().split_last().unwrap().1);
    assert_eq!(error.code(), Code::NotUtf8);
    assert_eq!(error.to_string(), "the configuration is not UTF-8");
    let (_, line, column) = error.place().unwrap();
    assert_eq!((line, column), (2, 6));
}

#[test]
fn a_file_may_have_one_mebibyte_and_not_a_byte_more() {
    let comment = |bytes: usize| [b"#".as_slice(), &vec![b'x'; bytes - 1]].concat();
    let folder = folder_with(&comment(MAX_BYTES));
    assert!(Config::load(&folder.path().join(FILE_NAME)).is_ok());

    let error = load_error(&comment(MAX_BYTES + 1));
    assert_eq!(error.code(), Code::FileUnreadable);
    assert_eq!(
        error.to_string(),
        "the configuration has more than 1048576 bytes"
    );
}

#[test]
fn the_nearest_file_above_is_found() {
    let folder = folder_with(b"");
    let deep = folder.path().join("a/b");
    fs::create_dir_all(&deep).unwrap();
    assert_eq!(Config::find(&deep), Some(folder.path().join(FILE_NAME)));

    fs::write(folder.path().join("a").join(FILE_NAME), "").unwrap();
    assert_eq!(
        Config::find(&deep),
        Some(folder.path().join("a").join(FILE_NAME))
    );
    assert_eq!(
        Config::find(folder.path()),
        Some(folder.path().join(FILE_NAME))
    );
}

#[test]
fn a_folder_with_the_files_name_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(FILE_NAME)).unwrap();
    assert_ne!(
        Config::find(folder.path()),
        Some(folder.path().join(FILE_NAME))
    );
}

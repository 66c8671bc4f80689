//! A store whose file or folder is taken away while it is used says so, and writes
//! nowhere else.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use rustagents_core::{code::Coded as _, store::StoreError};

use crate::numbered::Numbered;

const GONE: &str = "it was removed or moved while it was in use";

/// Runs every case, each in a folder of its own below `folder`. `open` opens the store
/// at a path, and `replaced` is what it says of another one that came to stand there.
///
/// # Panics
/// On the first broken promise.
pub async fn suite<N: Numbered>(folder: &Path, replaced: &str, open: impl Fn(&Path) -> N) {
    let used = async |name: &str| {
        let path = folder.join(name).join("store");
        let store = open(&path);
        for number in 1..=2 {
            assert_eq!(store.add("a").await.expect("written"), number);
        }
        assert_eq!(store.last().await.expect("read"), 2);
        Used { path, store }
    };
    removed(&used("removed").await, replaced, &open).await;
    removed_with_its_folder(&used("folder").await).await;
    moved(&used("moved").await, &open).await;
    replaced_by_another(used("replaced").await, replaced, &open).await;
}

/// A store in use, to which two writes were made.
struct Used<N> {
    path: PathBuf,
    store: N,
}

impl<N: Numbered> Used<N> {
    /// Whatever is asked, the store says why it cannot.
    async fn refuses(&self, expected: &str) {
        let mut told = vec![
            self.store.add("b").await.map(drop),
            self.store.last().await.map(drop),
        ];
        told.extend(self.store.others().await);
        for (at, told) in told.into_iter().enumerate() {
            let error = told.expect_err(&format!("the call {at} is refused"));
            assert_eq!(error.code().as_str(), "RAG0301");
            let StoreError::Unavailable { store, reason } = &error else {
                panic!("{error:?}");
            };
            assert_eq!(*store, self.path.display().to_string());
            assert_eq!(reason, expected);
        }
    }
}

async fn removed<N: Numbered>(used: &Used<N>, replaced: &str, open: impl Fn(&Path) -> N) {
    remove(&used.path, false);
    used.refuses(GONE).await;
    used.refuses(GONE).await;
    assert!(!used.path.exists(), "nothing is made in its place");
    // A program that is started now begins with a store of its own.
    remove(&used.path, true);
    let other = open(&used.path);
    assert_eq!(other.add("other").await.expect("written"), 1);
    used.refuses(replaced).await;
    assert_eq!(other.last().await.expect("read"), 1);
}

async fn removed_with_its_folder<N: Numbered>(used: &Used<N>) {
    let folder = used.path.parent().expect("a folder");
    fs::remove_dir_all(folder).expect("removed");
    used.refuses(GONE).await;
    assert!(!folder.exists(), "nothing is made in its place");
}

async fn moved<N: Numbered>(used: &Used<N>, open: impl Fn(&Path) -> N) {
    let elsewhere = used.path.with_file_name("elsewhere");
    fs::rename(&used.path, &elsewhere).expect("moved");
    used.refuses(GONE).await;
    assert!(!used.path.exists(), "nothing is made in its place");
    let there = open(&elsewhere);
    assert_eq!(there.last().await.expect("read"), 2);
    drop(there);
    fs::rename(&elsewhere, &used.path).expect("moved back");
    assert_eq!(used.store.add("c").await.expect("written"), 3);
    assert_eq!(used.store.last().await.expect("read"), 3);
}

async fn replaced_by_another<N: Numbered>(
    used: Used<N>,
    replaced: &str,
    open: impl Fn(&Path) -> N,
) {
    let elsewhere = used.path.with_file_name("elsewhere");
    for (from, to) in parts(&used.path).into_iter().zip(parts(&elsewhere)) {
        if from.exists() {
            fs::rename(from, to).expect("moved");
        }
    }
    let other = open(&used.path);
    for number in 1..=3 {
        assert_eq!(other.add("other").await.expect("written"), number);
    }
    used.refuses(replaced).await;
    let path = used.path.clone();
    drop(used);
    assert_eq!(other.add("other").await.expect("written"), 4);
    assert_eq!(open(&path).last().await.expect("read"), 4);
    assert_eq!(open(&elsewhere).last().await.expect("read"), 2);
}

/// What a store at `path` may consist of.
fn parts(path: &Path) -> Vec<PathBuf> {
    let part = |ending: &str| {
        let mut name = OsString::from(path);
        name.push(ending);
        PathBuf::from(name)
    };
    ["", "-wal", "-shm"].map(part).to_vec()
}

/// Removes the store, with its companions or without.
fn remove(path: &Path, with_companions: bool) {
    if path.is_dir() {
        fs::remove_dir_all(path).expect("removed");
    } else if path.exists() {
        fs::remove_file(path).expect("removed");
    }
    if with_companions {
        for part in parts(path) {
            // Not every store has them.
            let _ = fs::remove_file(part);
        }
    }
}

//! Which folders are opened, and what is left untouched.

use std::{fs, os::unix::fs::PermissionsExt as _, sync::Arc};

use rustagents_core::{
    digest::Digest,
    ids::MessageId,
    journal::{Content, Journal, JournalError, MAX_BATCH_BYTES, Owner, ThreadQuery},
    message::Message,
};
use rustagents_store_file::FileJournal;

use crate::support::{bodies, commit, fact, files, log, thread};

#[tokio::test]
async fn opening_and_reading_make_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er");
    let journal = FileJournal::open(&path).unwrap();
    let name = thread("t");
    assert!(!FileJournal::exists(&path).unwrap());
    assert!(bodies(&journal, &name).await.is_empty());
    assert!(journal.messages(&name, 0, 9).await.unwrap().is_empty());
    assert_eq!(journal.owner(&name).await.unwrap(), None);
    assert_eq!(journal.threads(ThreadQuery::all()).await.unwrap(), []);
    let content = journal.content(&name, Digest::of(b"x")).await.unwrap();
    assert_eq!(content, None);
    for error in [
        journal.append(fact(&name, 1, "k", "1")).await.unwrap_err(),
        journal.remove(&name, 1).await.unwrap_err(),
        journal.copy(&name, &thread("u"), None).await.unwrap_err(),
    ] {
        assert!(
            matches!(error, JournalError::UnknownThread { .. }),
            "{error:?}"
        );
    }
    assert!(files(folder.path()).is_empty());
    drop(journal.claim(&name, Owner::default()).await.unwrap());
    assert!(FileJournal::exists(&path).unwrap());
    let mark = fs::read_to_string(path.join("format")).unwrap();
    assert_eq!(mark, "{\"store\":\"rustagents\",\"format\":2}\n");
}

#[test]
fn foreign_and_newer_folders_are_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let with = |name: &str, file: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join(file), text).unwrap();
        path
    };
    let foreign = [
        with("others", "README", "hello"),
        with("mark", "format", "1\n"),
        with("empty-mark", "format", ""),
        with("another", "format", r#"{"store":"depot","format":1}"#),
        with("nothing", "format", r#"{"store":"rustagents","format":0}"#),
        with("long", "format", &" ".repeat(10_000)),
        folder.path().join("others/README"),
    ];
    let newer = with(
        "newer",
        "format",
        r#"{"store":"rustagents","format":3,"x":{}}"#,
    );
    let before = files(folder.path());
    for path in foreign {
        let error = FileJournal::open(&path).unwrap_err();
        assert!(matches!(error, JournalError::Foreign { .. }), "{error:?}");
        FileJournal::exists(&path).unwrap_err();
    }
    let error = FileJournal::open(newer).unwrap_err();
    let is_newer = matches!(
        error,
        JournalError::Newer {
            found: 3,
            supported: 2,
            ..
        }
    );
    assert!(is_newer, "{error:?}");
    assert_eq!(files(folder.path()), before);
}

#[tokio::test]
async fn a_folder_that_became_foreign_before_the_first_write_is_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::open(folder.path()).unwrap();
    fs::write(folder.path().join("README"), "hello").unwrap();
    let before = files(folder.path());
    let error = journal.claim(&thread("t"), Owner::default()).await;
    let error = error.unwrap_err();
    assert!(matches!(error, JournalError::Foreign { .. }), "{error:?}");
    assert_eq!(files(folder.path()), before);
}

#[tokio::test]
async fn what_a_crash_left_of_making_the_store_is_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("format.lock"), "").unwrap();
    fs::write(folder.path().join("format.new"), "{\"sto").unwrap();
    assert!(!FileJournal::exists(folder.path()).unwrap());
    let journal = FileJournal::open(folder.path()).unwrap();
    let claim = journal.claim(&thread("t"), Owner::default()).await.unwrap();
    assert_eq!(claim.epoch, 1);
    assert!(!folder.path().join("format.new").exists());
}

#[tokio::test]
async fn a_store_that_cannot_be_written_to_says_so_and_is_readable() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let error = match FileJournal::open(file.join("journal")) {
        Ok(journal) => journal
            .claim(&thread("t"), Owner::default())
            .await
            .unwrap_err(),
        Err(error) => error,
    };
    assert!(
        matches!(error, JournalError::Unavailable { .. }),
        "{error:?}"
    );

    let (path, name) = (folder.path().join("journal"), thread("t"));
    let journal = FileJournal::open(&path).unwrap();
    drop(journal.claim(&name, Owner::default()).await.unwrap());
    journal.append(fact(&name, 1, "k", "1")).await.unwrap();
    drop(journal);
    let all = files(&path);
    let permit = |folder: u32, file: u32| {
        for (path, bytes) in &all {
            let mode = if bytes.is_some() { file } else { folder };
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    permit(0o555, 0o444);
    // Who may do everything is not kept out by permissions.
    let is_kept_out = fs::write(path.join("claims/probe"), "").is_err();
    let journal = FileJournal::open(&path).unwrap();
    assert_eq!(bodies(&journal, &name).await, ["1"]);
    if is_kept_out {
        let error = journal.append(fact(&name, 1, "l", "1")).await.unwrap_err();
        let JournalError::Unavailable { store, reason } = error else {
            panic!("{error:?}");
        };
        assert!(store.contains("t-t"), "{store}");
        assert!(reason.contains("copy the store to a folder"), "{reason}");
    }
    permit(0o755, 0o644);
}

#[tokio::test]
async fn any_text_comes_back_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::open(folder.path()).unwrap();
    let name = thread("\u{4e2d}\u{202e} / .. \\ %41 ~\u{1f980}");
    drop(journal.claim(&name, Owner::default()).await.unwrap());
    let every: String = (0..=0x10_ffff)
        .step_by(7)
        .filter_map(char::from_u32)
        .collect();
    let low: String = (0..=0x2100).filter_map(char::from_u32).collect();
    let texts = ["", "\u{0}", "\r\n\u{2028}\u{feff}", &low, &every];
    for (number, text) in (0..).zip(texts) {
        let mut write = commit(&name, 1, (number > 0).then_some(number), text);
        write.messages = vec![Arc::new(Message::user(MessageId::numbered(number), text))];
        write.contents = vec![Content {
            digest: Digest::of(text.as_bytes()),
            bytes: text.as_bytes().to_vec(),
        }];
        journal.append(write).await.unwrap();
    }
    drop(journal);
    let journal = FileJournal::open(folder.path()).unwrap();
    assert_eq!(bodies(&journal, &name).await, texts);
    let messages = journal.messages(&name, 0, 9).await.unwrap();
    let messages: Vec<_> = messages.iter().map(|(_, message)| message.text()).collect();
    assert_eq!(messages, texts);
    for text in texts {
        let content = journal.content(&name, Digest::of(text.as_bytes())).await;
        assert_eq!(content.unwrap().unwrap(), text.as_bytes());
    }
    let rows = journal.threads(ThreadQuery::all()).await.unwrap();
    assert_eq!(rows[0].thread, name);
}

#[tokio::test]
async fn a_content_is_what_its_name_says() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::open(folder.path()).unwrap();
    let name = thread("t");
    drop(journal.claim(&name, Owner::default()).await.unwrap());
    let write = |digest| {
        let mut write = fact(&name, 1, "k", "1");
        let bytes = b"content".to_vec();
        write.contents = vec![Content { digest, bytes }];
        journal.append(write)
    };
    let error = write(Digest::of(b"another")).await.unwrap_err();
    assert!(matches!(error, JournalError::Malformed { .. }), "{error:?}");
    let digest = Digest::of(b"content");
    write(digest).await.unwrap();
    let all = files(&folder.path().join("families"));
    let (path, _) = all.iter().find(|(_, bytes)| bytes.is_some()).unwrap();
    fs::write(path, b"damaged").unwrap();
    let error = journal.content(&name, digest).await.unwrap_err();
    let JournalError::Corrupt { place, .. } = error else {
        panic!("{error:?}");
    };
    assert!(place.contains(&digest.to_string()), "{place}");
}

#[tokio::test]
async fn the_largest_batch_is_a_line_whatever_its_characters() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::open(folder.path()).unwrap();
    let name = thread("t");
    drop(journal.claim(&name, Owner::default()).await.unwrap());
    let body = "\u{1}".repeat(MAX_BATCH_BYTES);
    journal.append(fact(&name, 1, "k", &body)).await.unwrap();
    let journal = FileJournal::open(folder.path()).unwrap();
    assert!(bodies(&journal, &name).await == [body]);
    let key = "x".repeat(MAX_BATCH_BYTES * 9);
    let error = journal.append(fact(&name, 1, &key, "1")).await.unwrap_err();
    assert!(matches!(error, JournalError::TooLarge { .. }), "{error:?}");
    assert_eq!(journal.append(fact(&name, 1, "l", "1")).await.unwrap(), [2]);
}

#[tokio::test]
async fn the_documented_log_is_one() {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/journal-format.md"
    );
    let page = fs::read_to_string(page).unwrap();
    let lines = page.lines().filter(|line| line.contains("\"sum\":\""));
    let text = lines.flat_map(|line| [line, "\n"]).collect::<String>();
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::open(folder.path()).unwrap();
    let name = thread("demo");
    drop(journal.claim(&name, Owner::default()).await.unwrap());
    fs::write(log(folder.path(), &name), text).unwrap();
    let found = bodies(&journal, &name).await;
    let expected = r#"{"call":"c-3","tool":"refund","end":"done","message":"m-11"}"#;
    assert_eq!(found, [expected]);
    let driver = journal.claim(&name, Owner::default()).await.unwrap();
    assert_eq!(driver.epoch, 2);
}

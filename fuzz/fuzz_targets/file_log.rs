//! Logs of the file store: every log has a verdict, and one that is read can be
//! written to, or says why not.
#![no_main]

use std::{fs, path::Path};

use libfuzzer_sys::fuzz_target;
use rustagents_core::{
    digest::Digest,
    ids::{Branch, FactKey, Namespace, RunId, ThreadId},
    journal::{
        Author, Batch, Chain, Entry, Journal, JournalError, Owner, Place, Select, ThreadQuery, kind,
    },
};
use rustagents_store_file::FileJournal;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("there is a place for files");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime starts");
    runtime.block_on(check(&folder.path().join("raw"), bytes));
    runtime.block_on(check(&folder.path().join("sealed"), &sealed(bytes)));
});

async fn check(root: &Path, log: &[u8]) {
    let folder = root.join("threads/t-t");
    fs::create_dir_all(&folder).expect("a folder is made");
    let mark = "{\"store\":\"rustagents\",\"format\":1}\n";
    fs::write(root.join("format"), mark).expect("a file is written");
    fs::write(folder.join("log.jsonl"), log).expect("a file is written");
    let journal = FileJournal::open(root).expect("the folder is a store");
    let thread = ThreadId::new("t").expect("it is a name");
    let _ = journal.threads(ThreadQuery::all()).await;
    let before = match journal.read(&thread, Select::all()).await {
        Ok(records) => records,
        Err(error) => return drop(error.to_string()),
    };
    let _ = journal.messages(&thread, 0, 100).await;
    if write(&journal, &thread).await.is_ok() {
        // Another handle reads the same from the log alone.
        let fresh = FileJournal::open(root).expect("the folder is a store");
        let after = fresh.read(&thread, Select::all()).await;
        let after = after.expect("what was written to can be read");
        assert_eq!(after[..before.len()], before);
        assert_eq!(after.len(), before.len() + 1);
    }
}

async fn write(journal: &FileJournal, thread: &ThreadId) -> Result<(), JournalError> {
    let claim = journal.claim(thread, Owner::default()).await?;
    let chain = Chain {
        branch: Branch::main(),
        namespace: Namespace::root(),
    };
    let entry = Entry {
        chain,
        place: Place::Fact(FactKey::from("a key of its own")),
        kind: kind::RESULT,
        run: RunId::from("r"),
        attempt: 1,
        effect: None,
        digest: None,
        body: "{}".into(),
    };
    let batch = Batch {
        thread: thread.clone(),
        author: Author::Driver(claim.epoch),
        heads: vec![],
        entries: vec![entry],
        messages: vec![],
        contents: vec![],
        at_ms: 1,
    };
    journal.append(batch).await.map(drop)
}

/// The lines with the sums that they would have, which nothing that is made at
/// random has.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let (mut sealed, mut sum) = (Vec::new(), "0".repeat(16));
    for line in bytes.split(|byte| *byte == b'\n') {
        let end = line.windows(8).rposition(|part| part == br#","sum":""#);
        let fields = match end {
            Some(end) => &line[..end],
            None => line.strip_suffix(b"}").unwrap_or(line),
        };
        if fields.is_empty() {
            continue;
        }
        let digest = Digest::of_parts([sum.as_bytes(), fields]).to_string();
        sum = digest[..16].to_owned();
        sealed.extend_from_slice(fields);
        sealed.extend_from_slice(format!(",\"sum\":\"{sum}\"}}\n").as_bytes());
    }
    sealed
}

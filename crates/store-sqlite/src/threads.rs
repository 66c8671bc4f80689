//! Whole threads, inside the writer's transaction: claiming, copying, installing,
//! compacting and removing them.

use std::{
    collections::{BTreeSet, HashSet},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, params};
use rustagents_core::{
    digest::Digest,
    ids::ThreadId,
    journal::{Compaction, Epoch, Family, JournalError, Owner, Seq, ThreadImage, mention},
};

use crate::{
    batch::{self, Refused},
    known::Group,
    placed::Placed,
    reader,
    schema::failed,
    spans::{self, PLACE, Rows},
    target::{Target, Thread, ThreadRow, check_epoch, find, known},
};

/// Which of a thread's lock files counts. A take-over goes on to the next one.
pub(crate) type Lock = u32;

/// What became of a claim.
pub(crate) enum Claimed {
    /// The thread is at this epoch now.
    At(Epoch),
    /// Another lock counts; nothing was written.
    OtherLock(Lock),
}

/// Counts the thread's epoch up, making the thread if it is new. The claimant
/// holds the lock `held`, which is the one that counts, or the next if the thread
/// is taken over.
pub(crate) fn claim(
    group: &mut Group<'_, '_>,
    thread: &ThreadId,
    owner: &Owner,
    held: Lock,
    takes_over: bool,
) -> Result<Claimed, Refused> {
    let encoded = serde_json::to_string(owner).map_err(|error| JournalError::Encode {
        reason: error.to_string(),
    });
    let owner = encoded.map_err(Refused::Clean)?;
    let (path, connection) = (group.path, group.connection);
    let counts = reader::lock(path, connection, thread).map_err(Refused::Clean)?;
    let expected = if takes_over {
        held.checked_sub(1)
    } else {
        Some(held)
    };
    if expected != Some(counts) {
        return Ok(Claimed::OtherLock(counts));
    }
    let claimed = group
        .tails()
        .store(connection)
        .and_then(|()| count_up(connection, thread, &owner, held))
        .map_err(|error| Refused::Dirty(failed(path, &error)))?;
    let epoch = claimed.row.epoch;
    group.known.remember(thread, claimed);
    Ok(Claimed::At(epoch))
}

/// Writes that `owner` has the thread, in an epoch of its own.
fn count_up(
    connection: &Connection,
    thread: &ThreadId,
    owner: &str,
    held: Lock,
) -> rusqlite::Result<Thread> {
    let mut thread = match find(connection, thread)? {
        Some(mut row) => {
            row.settle(connection)?;
            Thread::new(row)
        }
        None => Thread::begun(make(connection, thread, None, None, owner)?, connection)?,
    };
    let row = &mut thread.row;
    row.epoch += 1;
    connection
        .prepare_cached(
            "UPDATE threads SET epoch = ?2, lock = ?3, owner = ?4, updated_at = ?5 WHERE id = ?1",
        )?
        .execute(params![row.id, row.epoch, held, owner, now_ms()])?;
    Ok(thread)
}

/// Makes a thread in `family`, or in one of its own. One that is claimed at once begins at the
/// last epoch that was used; one with the epoch of another is above that, since nobody
/// drives it yet. Each maximum is looked up by itself: both at once would take a scan.
fn make(
    connection: &Connection,
    thread: &ThreadId,
    family: Option<i64>,
    epoch: Option<Epoch>,
    owner: &str,
) -> rusqlite::Result<ThreadRow> {
    let (mut row, lock): (ThreadRow, Lock) = connection
        .prepare_cached(
            "SELECT id, id,
                    max(coalesce(?1, 0), removed.epoch + (?1 IS NOT NULL AND removed.epoch > 0)),
                    removed.lock
               FROM (SELECT 1 + max(coalesce((SELECT max(id) FROM threads), 0),
                                    coalesce((SELECT max(family) FROM threads), 0)) AS id), removed",
        )?
        .query_row([epoch], |row| Ok((ThreadRow::new(row)?, row.get(3)?)))?;
    row.family = family.unwrap_or(row.id);
    connection
        .prepare_cached(
            "INSERT INTO threads(id, name, family, epoch, lock, owner, last_seq, last_place,
                                 created_at, updated_at)
             VALUES(?1, ?2, ?7, ?3, ?4, ?5, 0, 0, ?6, ?6)",
        )?
        .execute(params![
            row.id,
            thread.as_str(),
            row.epoch,
            lock,
            owner,
            now_ms(),
            row.family
        ])?;
    Ok(row)
}

/// The store's clock, for the rows that people list; nothing is ordered by it.
fn now_ms() -> i64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

fn free(path: &Path, connection: &Connection, thread: &ThreadId) -> Result<(), JournalError> {
    match find(connection, thread).map_err(|e| failed(path, &e))? {
        None => Ok(()),
        Some(_) => Err(JournalError::ThreadExists {
            thread: thread.clone(),
        }),
    }
}

/// Makes `to` of the records of `from` up to `upto`, in the same family.
pub(crate) fn copy(
    group: &mut Group<'_, '_>,
    from: &ThreadId,
    to: &ThreadId,
    upto: Option<Seq>,
) -> Result<(), JournalError> {
    let (path, connection) = (group.path, group.connection);
    let source = known(path, connection, from)?;
    free(path, connection, to)?;
    let closed = group.tails().close(connection);
    closed
        .and_then(|()| copy_rows(connection, &source, to, upto))
        .map_err(|e| failed(path, &e))
}

fn copy_rows(
    connection: &Connection,
    source: &ThreadRow,
    to: &ThreadId,
    upto: Option<Seq>,
) -> rusqlite::Result<()> {
    let copy = make(
        connection,
        to,
        Some(source.family),
        Some(source.epoch),
        "{}",
    )?
    .id;
    let upto = upto.unwrap_or(source.last_seq).min(source.last_seq);
    let copied = Rows::Records.between("0", "?3");
    connection.execute(
        &format!(
            "INSERT INTO chains(thread, branch, namespace)
             SELECT ?2, branch, namespace FROM chains
              WHERE thread = ?1
                AND id IN (SELECT r.chain FROM threads t {copied} WHERE t.id = ?1)
              ORDER BY id"
        ),
        params![source.id, copy, upto + 1],
    )?;
    let base = spans::behind_all(Rows::Records, connection)?;
    connection.execute(
        &format!(
            "INSERT INTO records(id, thread, chain, parent, branch, key, kind, version, run,
                                 attempt, epoch, at, effect, digest, body, content, sum, parts)
             SELECT ?4 + {PLACE} - 1, iif(r.key IS NULL, NULL, ?2), n.id, r.parent, r.branch,
                    r.key, r.kind, r.version, r.run, r.attempt, r.epoch, r.at, r.effect,
                    r.digest, r.body, r.content, r.sum, r.parts
               FROM threads t
               {copied}
               CROSS JOIN chains c ON c.id = r.chain
               CROSS JOIN chains n
                 ON n.thread = ?2 AND n.branch = c.branch AND n.namespace = c.namespace
              WHERE t.id = ?1
              ORDER BY s.start, r.id"
        ),
        params![source.id, copy, upto + 1, base],
    )?;
    spans::cover(Rows::Records, connection, copy, base)?;
    let base = spans::behind_all(Rows::Messages, connection)?;
    let all = Rows::Messages.all();
    connection.execute(
        &format!(
            "INSERT INTO messages(id, thread, name, body, content, sum, parts)
             SELECT ?3 + {PLACE} - 1, ?2, r.name, r.body, r.content, r.sum, r.parts
               FROM threads t {all} WHERE t.id = ?1 ORDER BY s.start, r.id"
        ),
        params![source.id, copy, base],
    )?;
    spans::cover(Rows::Messages, connection, copy, base)?;
    let all = Rows::Records.all();
    connection.execute(
        &format!(
            "UPDATE threads SET last_seq = coalesce(l.seq, 0), last_place = ?2,
                                updated_at = coalesce(l.at, updated_at)
               FROM (SELECT max({PLACE}) AS seq, r.at FROM threads t {all} WHERE t.id = ?1) l
              WHERE threads.id = ?1"
        ),
        params![copy, source.last_place],
    )?;
    find_heads(connection, copy)
}

/// Sets the head of each chain of a thread to its last commit, and forgets chains
/// without records.
fn find_heads(connection: &Connection, thread: i64) -> rusqlite::Result<()> {
    let all = Rows::Records.all();
    connection.execute(
        &format!(
            "DELETE FROM chains
              WHERE thread = ?1
                AND id NOT IN (SELECT r.chain FROM threads t {all} WHERE t.id = ?1)"
        ),
        [thread],
    )?;
    connection
        .execute(
            &format!(
                "UPDATE chains SET head = h.head
                   FROM (SELECT r.chain, max(iif(r.key IS NULL, {PLACE}, NULL)) AS head
                           FROM threads t {all} WHERE t.id = ?1 GROUP BY r.chain) h
                  WHERE h.chain = chains.id"
            ),
            [thread],
        )
        .map(drop)
}

/// Makes the thread that `image` shows.
pub(crate) fn install(group: &mut Group<'_, '_>, image: &ThreadImage) -> Result<(), JournalError> {
    image.check()?;
    let (path, connection) = (group.path, group.connection);
    free(path, connection, &image.thread)?;
    let family = image.family.as_ref();
    let family = family.map(|family| join(path, connection, family));
    let family = family.transpose()?;
    let row = make(connection, &image.thread, family, Some(image.epoch), "{}");
    let row = row.map_err(|e| failed(path, &e))?;
    fill(&mut group.new_target(&mut Thread::new(row)), image)
}

/// The family that an image joins, if it has all that is to be shared.
fn join(path: &Path, connection: &Connection, family: &Family) -> Result<i64, JournalError> {
    let name = known(path, connection, &family.of)?.family;
    let sql = "SELECT 1 FROM contents WHERE family = ?1 AND digest = ?2";
    let find = connection.prepare_cached(sql);
    let mut find = find.map_err(|error| failed(path, &error))?;
    for digest in &family.shared {
        let stored = find.exists(params![name, &digest.as_bytes()[..]]);
        if !stored.map_err(|error| failed(path, &error))? {
            return Err(JournalError::ContentGone {
                thread: family.of.clone(),
                digest: *digest,
            });
        }
    }
    Ok(name)
}

/// Fills a new thread.
fn fill(target: &mut Target<'_, '_>, image: &ThreadImage) -> Result<(), JournalError> {
    for content in &image.contents {
        let stored = target.insert_content(content.digest, &content.bytes);
        stored.map_err(|error| target.failed(&error))?;
    }
    for message in &image.messages {
        let body = batch::encoded(message)?;
        let stored = target.insert_message(message.id.as_str(), &body);
        stored.map_err(|error| target.failed(&error))?;
    }
    for record in &image.records {
        if record.seq <= target.row().last_seq {
            return Err(JournalError::Malformed {
                rule: "records are in the order of their places",
            });
        }
        let key = record.key();
        let taken = key.map(|key| target.fact(&record.chain.branch, key));
        let taken = taken.transpose().map_err(|error| target.failed(&error))?;
        if taken.flatten().is_some() {
            return Err(JournalError::Malformed {
                rule: "a key is unique in its branch",
            });
        }
        let stored = target.insert(&Placed::record(record));
        stored.map_err(|error| target.failed(&error))?;
    }
    let at_ms = image.records.last().map_or(0, |record| record.at_ms);
    target.touch(at_ms).map_err(|error| target.failed(&error))
}

/// Writes the batch, drops records, and collects what nobody mentions then.
pub(crate) fn compact(
    group: &mut Group<'_, '_>,
    compaction: &Compaction,
) -> Result<Vec<Seq>, JournalError> {
    let seqs = batch::append(group, &compaction.batch)?;
    let (path, connection) = (group.path, group.connection);
    let fail = |error: rusqlite::Error| failed(path, &error);
    group.tails().close(connection).map_err(fail)?;
    let mut thread = known(path, connection, &compaction.batch.thread)?;
    // What goes may be what says how far the thread is.
    thread.settle(connection).map_err(fail)?;
    let dropped = Rows::Records.between("?2", "?3");
    for range in &compaction.drop {
        let (start, end) = (*range.start(), (*range.end()).min(thread.last_seq));
        if start > end {
            continue;
        }
        connection
            .execute(
                &format!(
                    "DELETE FROM records
                      WHERE id IN (SELECT r.id FROM threads t {dropped} WHERE t.id = ?1)"
                ),
                params![thread.id, start.saturating_sub(1), end + 1],
            )
            .map_err(fail)?;
    }
    spans::split(Rows::Records, connection, thread.id).map_err(fail)?;
    find_heads(connection, thread.id).map_err(fail)?;
    let mut mentioned = Mentioned::default();
    mentioned.read(path, connection, Rows::Records, thread.id)?;
    collect_messages(connection, thread.id, &mentioned).map_err(fail)?;
    spans::split(Rows::Messages, connection, thread.id).map_err(fail)?;
    collect_contents(path, connection, thread.family)?;
    Ok(seqs)
}

/// Removes a thread, and what only it mentioned.
pub(crate) fn remove(
    path: &Path,
    connection: &Connection,
    thread: &ThreadId,
    epoch: Epoch,
) -> Result<(), JournalError> {
    let row = known(path, connection, thread)?;
    check_epoch(thread, epoch, &row)?;
    connection
        .execute(
            "UPDATE removed SET epoch = max(epoch, ?1),
                    lock = max(lock, 1 + (SELECT lock FROM threads WHERE id = ?2))",
            params![epoch, row.id],
        )
        .map_err(|error| failed(path, &error))?;
    remove_rows(connection, row.id).map_err(|error| failed(path, &error))?;
    collect_contents(path, connection, row.family)
}

fn remove_rows(connection: &Connection, thread: i64) -> rusqlite::Result<()> {
    let all = Rows::Records.all();
    let records = format!(
        "DELETE FROM records WHERE id IN (SELECT r.id FROM threads t {all} WHERE t.id = ?1)"
    );
    for sql in [
        &*records,
        "DELETE FROM chains WHERE thread = ?1",
        "DELETE FROM messages WHERE thread = ?1",
        "DELETE FROM threads WHERE id = ?1",
    ] {
        connection.execute(sql, [thread])?;
    }
    spans::remove(Rows::Records, connection, thread)?;
    spans::remove(Rows::Messages, connection, thread)
}

/// The strings and digests that stand in stored bodies.
#[derive(Default)]
struct Mentioned {
    strings: HashSet<String>,
    digests: BTreeSet<Digest>,
}

impl Mentioned {
    /// Reads the bodies of a thread. What is damaged may mention anything, and is an
    /// error.
    fn read(
        &mut self,
        path: &Path,
        connection: &Connection,
        rows: Rows,
        thread: i64,
    ) -> Result<(), JournalError> {
        reader::bodies(path, connection, rows, thread, &mut |body, contents| {
            self.digests.extend(contents);
            mention::strings(body, &mut |text| {
                mention::digests(text, &mut |digest| {
                    self.digests.insert(digest);
                });
                if !self.strings.contains(text) {
                    self.strings.insert(text.to_owned());
                }
            })
            .map_err(|error| JournalError::Corrupt {
                place: "a body that is kept".into(),
                reason: error.to_string(),
            })
        })
    }
}

fn collect_messages(
    connection: &Connection,
    thread: i64,
    mentioned: &Mentioned,
) -> rusqlite::Result<()> {
    let mut names = connection.prepare_cached("SELECT name FROM messages WHERE thread = ?1")?;
    let names = names.query_map([thread], |row| row.get::<_, String>(0))?;
    let names: Vec<_> = names.collect::<rusqlite::Result<_>>()?;
    let mut remove =
        connection.prepare_cached("DELETE FROM messages WHERE thread = ?1 AND name = ?2")?;
    for name in names {
        if !mentioned.strings.contains(&name) {
            remove.execute(params![thread, name])?;
        }
    }
    Ok(())
}

/// Removes the contents of a family that none of its threads mentions.
fn collect_contents(path: &Path, connection: &Connection, family: i64) -> Result<(), JournalError> {
    let fail = |error: rusqlite::Error| failed(path, &error);
    let mut stored = connection
        .prepare_cached("SELECT digest FROM contents WHERE family = ?1")
        .map_err(fail)?;
    let stored = stored.query_map([family], |row| row.get::<_, Vec<u8>>(0));
    let stored = stored.and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>);
    let stored = stored.map_err(fail)?;
    if stored.is_empty() {
        return Ok(());
    }
    let mut threads = connection
        .prepare_cached("SELECT id FROM threads WHERE family = ?1")
        .map_err(fail)?;
    let threads = threads.query_map([family], |row| row.get(0));
    let threads = threads.and_then(Iterator::collect::<rusqlite::Result<Vec<i64>>>);
    let mut mentioned = Mentioned::default();
    for thread in threads.map_err(fail)? {
        for rows in [Rows::Records, Rows::Messages] {
            if mentioned.read(path, connection, rows, thread).is_err() {
                // What cannot be read may mention anything: all of it stays.
                return Ok(());
            }
        }
    }
    let mut remove = connection
        .prepare_cached("DELETE FROM contents WHERE family = ?1 AND digest = ?2")
        .map_err(fail)?;
    for digest in stored {
        let known = Digest::from_bytes(&digest);
        if known.is_none_or(|digest| !mentioned.digests.contains(&digest)) {
            remove.execute(params![family, digest]).map_err(fail)?;
        }
    }
    Ok(())
}

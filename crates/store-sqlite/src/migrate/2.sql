-- From version 1, whose messages belonged to a family of threads, and whose rows
-- were found by an index.

ALTER TABLE threads ADD COLUMN lock INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN last_place INTEGER NOT NULL DEFAULT 0;

CREATE INDEX threads_family ON threads(family);

CREATE TABLE records_2(
  id INTEGER PRIMARY KEY,
  thread INTEGER,
  chain INTEGER NOT NULL REFERENCES chains(id),
  parent INTEGER,
  branch TEXT,
  key TEXT,
  kind TEXT NOT NULL,
  version INTEGER NOT NULL,
  run TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  at INTEGER NOT NULL,
  effect TEXT,
  digest BLOB,
  body BLOB,
  content BLOB
) STRICT;
INSERT INTO records_2(id, thread, chain, parent, branch, key, kind, version, run, attempt, epoch,
                      at, effect, digest, body, content)
  SELECT thread << 32 | seq, iif(key IS NULL, NULL, thread), chain, parent,
         iif(key IS NULL, NULL, branch), key, kind, version, run, attempt, epoch,
         at, effect, digest, body, content
    FROM records ORDER BY thread, seq;
DROP TABLE records;
ALTER TABLE records_2 RENAME TO records;
CREATE UNIQUE INDEX records_key ON records(thread, branch, key) WHERE key IS NOT NULL;

CREATE TABLE messages_2(
  id INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL REFERENCES threads(id),
  name TEXT NOT NULL,
  body BLOB,
  content BLOB,
  UNIQUE(thread, name)
) STRICT;
INSERT INTO messages_2(id, thread, name, body, content)
  SELECT t.id << 32 | row_number() OVER (PARTITION BY t.id ORDER BY m.place),
         t.id, m.name, m.body, m.content
    FROM messages m JOIN threads t ON t.family = m.family
   ORDER BY t.id, m.place;
DROP TABLE messages;
ALTER TABLE messages_2 RENAME TO messages;
UPDATE threads SET last_place = (SELECT count(*) FROM messages WHERE thread = threads.id);

CREATE TABLE removed(epoch INTEGER NOT NULL, lock INTEGER NOT NULL) STRICT;
INSERT INTO removed VALUES(0, 0);

-- The tables of the journal. A change here needs a migration beside it.

-- Batches write records and messages alone. What the rows of a thread and of its
-- chains say holds as of the record `last_seq` and the message `last_place`; how the
-- thread stands now is found in what was written since. A claim brings them forward.
CREATE TABLE threads(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  family INTEGER NOT NULL,          -- the threads that share contents
  epoch INTEGER NOT NULL,           -- how often it was claimed
  lock INTEGER NOT NULL,            -- which of its lock files counts
  owner TEXT NOT NULL,              -- the last owner, JSON
  last_seq INTEGER NOT NULL,        -- never given again, even where records go
  last_place INTEGER NOT NULL,      -- the same of its messages
  created_at INTEGER NOT NULL,      -- milliseconds since the Unix epoch
  updated_at INTEGER NOT NULL
) STRICT;

CREATE INDEX threads_family ON threads(family);

CREATE TABLE chains(
  id INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL REFERENCES threads(id),
  branch TEXT NOT NULL,
  namespace TEXT NOT NULL,
  head INTEGER,                     -- seq of its last commit up to last_seq
  UNIQUE(thread, branch, namespace)
) STRICT;

-- Records and messages stand in the order of writing. Spans say which are a thread's:
-- the rows from `id` to `last`, or all behind `id` where there is no `last`, stand at
-- its places from the lower 32 bits of `start` on, one behind the other.
CREATE TABLE record_spans(
  start INTEGER PRIMARY KEY,        -- thread << 32 | seq of the record with that id
  id INTEGER NOT NULL,
  last INTEGER
) STRICT;

CREATE TABLE message_spans(
  start INTEGER PRIMARY KEY,        -- thread << 32 | place of the message with that id
  id INTEGER NOT NULL,
  last INTEGER
) STRICT;

CREATE TABLE records(
  id INTEGER PRIMARY KEY,           -- in the order of writing
  thread INTEGER,                   -- facts only, for their index
  chain INTEGER NOT NULL REFERENCES chains(id),
  parent INTEGER,                   -- commits: seq of the commit that it extends
  branch TEXT,                      -- facts only, for their index
  key TEXT,                         -- facts: unique in the branch; commits: NULL
  kind TEXT NOT NULL,
  version INTEGER NOT NULL,
  run TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  at INTEGER NOT NULL,              -- milliseconds since the Unix epoch
  effect TEXT,                      -- repeatable, idempotent, once
  digest BLOB,                      -- of the effect's canonical input
  body BLOB,                        -- UTF-8 JSON, or NULL where parts or content stand
  content BLOB,                     -- digest of the body in contents, in rows of earlier versions
  sum INTEGER,                      -- of the record; NULL in rows of earlier versions
  parts TEXT                        -- the recipe of the body, JSON: texts, and contents
) STRICT;
CREATE UNIQUE INDEX records_key ON records(thread, branch, key) WHERE key IS NOT NULL;

CREATE TABLE messages(
  id INTEGER PRIMARY KEY,           -- in the order of writing
  thread INTEGER NOT NULL REFERENCES threads(id),
  name TEXT NOT NULL,
  body BLOB,                        -- as in records, and so are content and parts
  content BLOB,
  sum INTEGER,                      -- of name and body
  parts TEXT,
  UNIQUE(thread, name)
) STRICT;

CREATE TABLE contents(
  family INTEGER NOT NULL,
  digest BLOB NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY(family, digest)
) STRICT;

-- Of the threads that were removed: the highest epoch, and a lock above all that
-- may still be held.
CREATE TABLE removed(epoch INTEGER NOT NULL, lock INTEGER NOT NULL) STRICT;
INSERT INTO removed VALUES(0, 0);

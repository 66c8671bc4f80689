-- The tables of the journal. A change here needs a migration beside it.

CREATE TABLE threads(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  family INTEGER NOT NULL,          -- the threads that share contents
  epoch INTEGER NOT NULL,           -- how often it was claimed
  lock INTEGER NOT NULL,            -- which of its lock files counts
  owner TEXT NOT NULL,              -- the last owner, JSON
  last_seq INTEGER NOT NULL,
  last_place INTEGER NOT NULL,      -- of its messages
  created_at INTEGER NOT NULL,      -- milliseconds since the Unix epoch
  updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE chains(
  id INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL REFERENCES threads(id),
  branch TEXT NOT NULL,
  namespace TEXT NOT NULL,
  head INTEGER,                     -- seq of its last commit
  UNIQUE(thread, branch, namespace)
) STRICT;

CREATE TABLE records(
  thread INTEGER NOT NULL REFERENCES threads(id),
  seq INTEGER NOT NULL,
  chain INTEGER NOT NULL REFERENCES chains(id),
  parent INTEGER,                   -- commits: seq of the commit that it extends
  branch TEXT NOT NULL,
  key TEXT,                         -- facts: unique in the branch; commits: NULL
  kind TEXT NOT NULL,
  version INTEGER NOT NULL,
  run TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  at INTEGER NOT NULL,              -- milliseconds since the Unix epoch
  effect TEXT,                      -- repeatable, idempotent, once
  digest BLOB,                      -- of the effect's canonical input
  body BLOB,                        -- UTF-8 JSON, or NULL where content holds it
  content BLOB,                     -- digest of the body in contents
  PRIMARY KEY(thread, seq)
) STRICT;
CREATE UNIQUE INDEX records_key ON records(thread, branch, key) WHERE key IS NOT NULL;
CREATE INDEX records_content ON records(content) WHERE content IS NOT NULL;

CREATE TABLE messages(
  thread INTEGER NOT NULL REFERENCES threads(id),
  place INTEGER NOT NULL,           -- the order in which they were written
  name TEXT NOT NULL,
  body BLOB,                        -- UTF-8 JSON, or NULL where content holds it
  content BLOB,
  PRIMARY KEY(thread, place),
  UNIQUE(thread, name)
) STRICT;
CREATE INDEX messages_content ON messages(content) WHERE content IS NOT NULL;

CREATE TABLE contents(
  family INTEGER NOT NULL,
  digest BLOB NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY(family, digest)
) STRICT;

-- The highest epoch of a thread that was removed.
CREATE TABLE removed(epoch INTEGER NOT NULL) STRICT;
INSERT INTO removed VALUES(0);

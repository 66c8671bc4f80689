-- From version 3, whose rows were numbered by their threads. They keep their numbers,
-- and new ones stand behind them.
CREATE TABLE record_spans(
  thread INTEGER NOT NULL REFERENCES threads(id),
  first INTEGER NOT NULL,
  id INTEGER NOT NULL,
  last INTEGER,
  PRIMARY KEY(thread, first)
) STRICT, WITHOUT ROWID;

CREATE TABLE message_spans(
  thread INTEGER NOT NULL REFERENCES threads(id),
  first INTEGER NOT NULL,
  id INTEGER NOT NULL,
  last INTEGER,
  PRIMARY KEY(thread, first)
) STRICT, WITHOUT ROWID;

INSERT INTO record_spans(thread, first, id, last)
  SELECT id >> 32, min(id & 4294967295), min(id), max(id) FROM records GROUP BY id >> 32;

INSERT INTO message_spans(thread, first, id, last)
  SELECT id >> 32, min(id & 4294967295), min(id), max(id) FROM messages GROUP BY id >> 32;

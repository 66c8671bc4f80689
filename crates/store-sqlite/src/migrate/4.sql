-- From version 3, whose rows were numbered by their threads. They keep their numbers,
-- and new ones stand behind them.
CREATE TABLE record_spans(
  start INTEGER PRIMARY KEY,
  id INTEGER NOT NULL,
  last INTEGER
) STRICT;

CREATE TABLE message_spans(
  start INTEGER PRIMARY KEY,
  id INTEGER NOT NULL,
  last INTEGER
) STRICT;

INSERT INTO record_spans(start, id, last)
  SELECT min(id), min(id), max(id) FROM records GROUP BY id >> 32;

INSERT INTO message_spans(start, id, last)
  SELECT min(id), min(id), max(id) FROM messages GROUP BY id >> 32;

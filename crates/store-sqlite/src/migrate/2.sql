-- From version 1, whose messages belonged to a family of threads.

ALTER TABLE threads ADD COLUMN lock INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN last_place INTEGER NOT NULL DEFAULT 0;

ALTER TABLE messages RENAME TO messages_1;
CREATE TABLE messages(
  thread INTEGER NOT NULL REFERENCES threads(id),
  place INTEGER NOT NULL,
  name TEXT NOT NULL,
  body BLOB,
  content BLOB,
  PRIMARY KEY(thread, place),
  UNIQUE(thread, name)
) STRICT;
INSERT INTO messages(thread, place, name, body, content)
  SELECT t.id, m.place, m.name, m.body, m.content
    FROM messages_1 m JOIN threads t ON t.family = m.family;
DROP TABLE messages_1;
CREATE INDEX messages_content ON messages(content) WHERE content IS NOT NULL;
UPDATE threads SET last_place =
  coalesce((SELECT max(place) FROM messages WHERE thread = threads.id), 0);

CREATE TABLE removed(epoch INTEGER NOT NULL) STRICT;
INSERT INTO removed VALUES(0);

-- An application store of format 1: four items, and one that was deleted.

CREATE TABLE items(
  id INTEGER PRIMARY KEY,
  namespace TEXT NOT NULL,          -- each part with U+001F behind it
  key TEXT NOT NULL,
  value TEXT NOT NULL,              -- JSON
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,      -- milliseconds since the Unix epoch
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,               -- from then on nobody sees it
  ttl INTEGER,                      -- how long it lives, in milliseconds
  UNIQUE(namespace, key)
) STRICT;
CREATE INDEX items_expiry ON items(expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE floor(
  version INTEGER NOT NULL          -- the highest that was ever removed
) STRICT;

INSERT INTO items VALUES(1, CAST(X'75736572731F34321F' AS TEXT), 'drink', '{"cups":2,"name":"Zoë \u0001"}', 2, 1795914269500, 1795914269572, NULL, NULL);
INSERT INTO items VALUES(2, CAST(X'75736572731F34321F' AS TEXT), 'card', '[1,2.5,null]', 1, 1795914269596, 1795914269596, 4949514269596, 3153600000000);
INSERT INTO items VALUES(3, CAST(X'75736572731F342F321F' AS TEXT), 'drink', 'true', 1, 1795914269620, 1795914269620, NULL, NULL);
INSERT INTO items VALUES(4, '', 'top', '1', 1, 1795914269644, 1795914269644, NULL, NULL);
INSERT INTO floor VALUES(1);
PRAGMA application_id = 0x52414749;
PRAGMA user_version = 1;

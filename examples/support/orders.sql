CREATE TABLE orders(
  id TEXT PRIMARY KEY,
  item TEXT,
  paid_cents INTEGER,
  status TEXT,
  claim TEXT
);

INSERT INTO orders(id, item, paid_cents, status, claim) VALUES
  ('A-1040', 'desk lamp',        4900, 'delivered', NULL),
  ('A-1041', 'bookshelf',       17900, 'delivered', NULL),
  ('A-1042', 'office chair',    12900, 'paid',      NULL),
  ('A-1043', 'standing desk',   54900, 'shipped',   NULL),
  ('A-1044', 'monitor arm',      8900, 'paid',      NULL),
  ('A-1045', 'keyboard',         6900, 'refunded',  NULL),
  ('A-1046', 'headset',         11900, 'shipped',   'open'),
  ('A-1047', 'cable tray',       1900, 'cancelled', NULL),
  ('B-2001', 'floor mat',        3900, 'paid',      NULL),
  ('B-2002', 'footrest',         2900, 'delivered', NULL),
  ('B-2003', 'whiteboard',       7900, 'shipped',   NULL),
  ('C-3001', 'filing cabinet',  21900, 'paid',      'open');

-- Fills the database when it is first used: .rustagents/data/stock.db
CREATE TABLE items(
  name TEXT PRIMARY KEY,
  quantity INTEGER NOT NULL CHECK(quantity >= 0)
);

INSERT INTO items(name, quantity) VALUES
  ('desk lamp',    4),
  ('office chair', 12),
  ('monitor arm',  0);

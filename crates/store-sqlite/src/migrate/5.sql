-- From version 4, whose rows had no sums, and whose long bodies were one content each.
-- The rows that are there stay as they are; spans are split where rows are gone.
ALTER TABLE records ADD COLUMN sum INTEGER;
ALTER TABLE records ADD COLUMN parts TEXT;
ALTER TABLE messages ADD COLUMN sum INTEGER;
ALTER TABLE messages ADD COLUMN parts TEXT;

CREATE TABLE islands AS
  SELECT start + min(id) - first AS start, min(id) AS id,
         iif(last IS NULL AND max(id) = (SELECT max(id) FROM records), NULL, max(id)) AS last
    FROM (SELECT s.start, s.id AS first, s.last, r.id,
                 r.id - row_number() OVER (PARTITION BY s.start ORDER BY r.id) AS run
            FROM record_spans s CROSS JOIN records r
              ON r.id BETWEEN s.id AND coalesce(s.last, (SELECT max(id) FROM records)))
   GROUP BY start, run;
DELETE FROM record_spans;
INSERT INTO record_spans(start, id, last) SELECT start, id, last FROM islands;
DROP TABLE islands;

CREATE TABLE islands AS
  SELECT start + min(id) - first AS start, min(id) AS id,
         iif(last IS NULL AND max(id) = (SELECT max(id) FROM messages), NULL, max(id)) AS last
    FROM (SELECT s.start, s.id AS first, s.last, r.id,
                 r.id - row_number() OVER (PARTITION BY s.start ORDER BY r.id) AS run
            FROM message_spans s CROSS JOIN messages r
              ON r.id BETWEEN s.id AND coalesce(s.last, (SELECT max(id) FROM messages)))
   GROUP BY start, run;
DELETE FROM message_spans;
INSERT INTO message_spans(start, id, last) SELECT start, id, last FROM islands;
DROP TABLE islands;

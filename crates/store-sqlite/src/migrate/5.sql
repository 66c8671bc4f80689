-- From version 4, whose rows had no sums, and whose long bodies were one content each.
-- The rows that are there stay as they are.
ALTER TABLE records ADD COLUMN sum INTEGER;
ALTER TABLE records ADD COLUMN parts TEXT;
ALTER TABLE messages ADD COLUMN sum INTEGER;
ALTER TABLE messages ADD COLUMN parts TEXT;

-- From version 4, whose rows had no sums. The rows that are there stay without.
ALTER TABLE records ADD COLUMN sum INTEGER;
ALTER TABLE messages ADD COLUMN sum INTEGER;

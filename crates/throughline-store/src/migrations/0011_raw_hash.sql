-- The hash of a packed piece's text. A piece that is not packed has it as the name of its body;
-- pieces that were packed before this column have none.
ALTER TABLE raw ADD COLUMN hash BLOB;

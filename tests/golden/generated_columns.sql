-- Columns that are computed are refused by name.

CREATE TABLE t (a INTEGER, b AS (a + 1));
-- error: NotSupportedError: a generated column is not supported

CREATE TABLE t (a INTEGER, b);
-- error: ProgrammingError: the column 'b' has no type (line 1, column 28)

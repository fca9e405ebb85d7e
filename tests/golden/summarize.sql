CREATE TABLE t (i INTEGER, m DECIMAL(6, 2), x DOUBLE, s VARCHAR, d DATE, b BOOLEAN, n INTEGER);

INSERT INTO t VALUES
  (1, 1.5, 0.5, 'a', '2026-05-01', true, NULL), (2, 2.5, 1, 'b', '2026-05-02', false, NULL),
  (3, NULL, 1.5, 'b', NULL, true, NULL), (NULL, 4, 2, NULL, '2026-05-09', true, NULL);

SUMMARIZE t;
-- 'b' | 'BOOLEAN' | 'false' | 'true' | 2 | NULL | NULL | NULL | NULL | NULL | 4 | 0.00
-- 'd' | 'DATE' | '2026-05-01' | '2026-05-09' | 3 | NULL | NULL | '2026-05-01' | '2026-05-02' | '2026-05-09' | 4 | 25.00
-- 'i' | 'INTEGER' | '1' | '3' | 3 | '2.0' | '1.0' | '1' | '2' | '3' | 4 | 25.00
-- 'm' | 'DECIMAL(6,2)' | '1.50' | '4.00' | 3 | '2.6666666666666665' | '1.2583057392117916' | '1.50' | '2.50' | '4.00' | 4 | 25.00
-- 'n' | 'INTEGER' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 4 | 100.00
-- 's' | 'VARCHAR' | 'a' | 'b' | 2 | NULL | NULL | NULL | NULL | NULL | 4 | 25.00
-- 'x' | 'DOUBLE' | '0.5' | '2.0' | 4 | '1.25' | '0.6454972243679028' | '0.5' | '1.0' | '1.5' | 4 | 0.00

DESCRIBE t;
-- 'b' | 'BOOLEAN' | 'YES' | NULL | NULL | NULL
-- 'd' | 'DATE' | 'YES' | NULL | NULL | NULL
-- 'i' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'm' | 'DECIMAL(6,2)' | 'YES' | NULL | NULL | NULL
-- 'n' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 's' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'x' | 'DOUBLE' | 'YES' | NULL | NULL | NULL

SUMMARIZE SELECT i * 2 AS twice FROM t WHERE i IS NOT NULL;
-- 'twice' | 'INTEGER' | '2' | '6' | 3 | '4.0' | '2.0' | '2' | '4' | '6' | 3 | 0.00

SUMMARIZE SELECT * FROM t WHERE i > 99;
-- 'b' | 'BOOLEAN' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 0 | NULL
-- 'd' | 'DATE' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 0 | NULL
-- 'i' | 'INTEGER' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 0 | NULL
-- 'm' | 'DECIMAL(6,2)' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 0 | NULL
-- 'n' | 'INTEGER' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 0 | NULL
-- 's' | 'VARCHAR' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 0 | NULL
-- 'x' | 'DOUBLE' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 0 | NULL

SUMMARIZE nothing;
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 11)

SUMMARIZE;
-- error: ProgrammingError: syntax error at line 1, column 10: the statement ends too early, expected the name of a table

-- The number of a row is called rowid, unless a column is.
CREATE TABLE t (a INTEGER, b VARCHAR);
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'c');
SELECT * FROM t WHERE rowid = 2;
-- 3 | 'c'
SELECT rowid, t.ROWID, typeof(rowid), * FROM t ORDER BY rowid DESC LIMIT 2;
-- 3 | 3 | 'BIGINT' | 4 | 'c'
-- 2 | 2 | 'BIGINT' | 3 | 'c'
SELECT max(rowid), count(*) FROM t;
-- 3 | 4
SELECT count(*), sum(a) FROM t WHERE rowid > 1;
-- 2 | 7
SELECT rowid % 2, sum(a) FROM t GROUP BY 1 ORDER BY 1;
-- 0 | 4
-- 1 | 6
SELECT x.rowid, y.rowid FROM t x JOIN t y ON x.rowid = y.rowid + 1 ORDER BY 1;
-- 1 | 0
-- 2 | 1
-- 3 | 2
SELECT a, (SELECT b FROM t s WHERE s.rowid = t.rowid + 1) FROM t ORDER BY 1;
-- 1 | 'b'
-- 2 | 'c'
-- 3 | 'c'
-- 4 | NULL
SELECT a FROM t WHERE rowid IN (SELECT max(rowid) FROM t GROUP BY b) ORDER BY a;
-- 1
-- 2
-- 4
SELECT rowid FROM t x, t y;
-- error: ProgrammingError: column 'rowid' is ambiguous: it is in 'x' and in 'y' (line 1, column 8)
SELECT rowid FROM (SELECT a FROM t) s;
-- error: ProgrammingError: column 'rowid' does not exist in 's' (line 1, column 8)
SELECT rowid FROM range(3);
-- error: ProgrammingError: column 'rowid' does not exist in 'range' (line 1, column 8)
EXPLAIN SELECT b, count(*) FROM t WHERE rowid > 1 GROUP BY b;
-- 'path: general (it reads the numbers of rows)'
-- 'ComputeColumns: b, count_star AS count(*)'
-- '  HashAggregate: count(*) by b'
-- '    general path: it reads the numbers of rows'
-- '    FilterRows: (CAST(row number AS BIGINT) > 1)'
-- '      ScanTable: t (b, row number)'

-- Rows keep their numbers while others come and go; one that is changed is another row.
DELETE FROM t WHERE rowid NOT IN (SELECT min(rowid) FROM t GROUP BY b) RETURNING rowid, a;
-- 3 | 4
UPDATE t SET b = 'z' WHERE rowid = 0;
INSERT INTO t VALUES (9, 'n');
SELECT rowid, * FROM t ORDER BY a;
-- 4 | 1 | 'z'
-- 1 | 2 | 'b'
-- 2 | 3 | 'c'
-- 5 | 9 | 'n'
MERGE INTO t USING (SELECT rowid AS r FROM t) s ON t.rowid = s.r WHEN MATCHED AND t.rowid = 1 THEN DELETE;
SELECT rowid, * FROM t ORDER BY a;
-- 4 | 1 | 'z'
-- 2 | 3 | 'c'
-- 5 | 9 | 'n'
CREATE INDEX i ON t (a);
SELECT rowid FROM t WHERE a = 3;
-- 2

CREATE VIEW v AS SELECT a FROM t;
SELECT rowid FROM v;
-- error: ProgrammingError: column 'rowid' does not exist in 'v' (line 1, column 8)
CREATE TABLE own (RowId INTEGER, x INTEGER);
INSERT INTO own VALUES (7, 8);
SELECT rowid, own.rowid, * FROM own;
-- 7 | 7 | 7 | 8

-- The body of a macro may name it.
CREATE MACRO numbered(n) AS TABLE SELECT rowid, a FROM t WHERE rowid <= n;

SELECT * FROM numbered(2);
-- 2 | 3

CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR DEFAULT 'x');

INSERT INTO t (a) VALUES (1), (2) RETURNING *;
-- 1 | 'x'
-- 2 | 'x'

INSERT INTO t SELECT a + 10, b || a FROM t RETURNING a * 2 AS twice, t.b, NULL, 'const';
-- 22 | 'x1' | NULL | 'const'
-- 24 | 'x2' | NULL | 'const'

INSERT INTO t AS target VALUES (3, 'c') RETURNING target.*, upper(b);
-- 3 | 'c' | 'C'

UPDATE t SET b = b || '!' WHERE a < 3 RETURNING a, b;
-- 1 | 'x!'
-- 2 | 'x!'

UPDATE t AS u SET a = a + 100 WHERE a = 3 RETURNING u.a, t.a;
-- error: ProgrammingError: table 't' is not in FROM; did you mean its alias 'u'? (line 1, column 58)

UPDATE t AS u SET a = a + 100 WHERE a = 3 RETURNING u.a;
-- 103

DELETE FROM t WHERE a > 10 RETURNING *, length(b) AS l;
-- 103 | 'c' | 1
-- 11 | 'x1' | 2
-- 12 | 'x2' | 2

DELETE FROM t WHERE a > 10 RETURNING a;
-- (no rows)

SELECT * FROM t ORDER BY a;
-- 1 | 'x!'
-- 2 | 'x!'

INSERT INTO t VALUES (9, 'z') RETURNING (SELECT count(*) FROM t);
-- 2

INSERT INTO t VALUES (1, 'z') RETURNING a;
-- error: IntegrityError: table 't', row 1: the primary key (a) = (1) is in the table already

INSERT INTO t VALUES (8, 'z') RETURNING c;
-- error: ProgrammingError: column 'c' does not exist in 't' (line 1, column 41)

INSERT INTO t VALUES (8, 'z') RETURNING 1 / (a - 8);
-- error: DataError: division by zero

INSERT INTO t VALUES (8, 'z') RETURNING count(*);
-- error: ProgrammingError: RETURNING cannot contain the aggregate count (line 1, column 41)

DELETE FROM t RETURNING;
-- error: ProgrammingError: syntax error at line 1, column 24: the statement ends too early

SELECT count(*) FROM t;
-- 3

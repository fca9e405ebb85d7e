CREATE TABLE t (a INTEGER, b INTEGER);

CREATE TABLE u (x INTEGER, y INTEGER);

INSERT INTO t VALUES (1, 1), (1, 2), (2, 1), (NULL, 1), (2, NULL);

INSERT INTO u VALUES (1, 2), (2, NULL), (3, 3);

-- Rows compare from left to right, the first columns that differ decide.
SELECT (1, 2) = (1, 2), (1, 2) = (1, 3), (1, 2) <> (1, 3), (1, 2) < (1, 3), (2, 1) > (1, 9), (1, 2) <= (1, 2), (1, 3) >= (2, 0);
-- true | false | true | true | true | true | false
SELECT ROW(1, 2) = (1, 2), (1, 2, 3) < (1, 2, 4), (1, 'a') < (1, 'b');
-- true | true | true

-- A NULL counts only where it could decide.
SELECT (1, NULL) = (1, 2), (1, NULL) = (2, 2), (1, NULL) <> (2, 2), (1, NULL) < (2, 2), (1, NULL) < (1, 2);
-- NULL | false | true | true | NULL
SELECT (1, NULL) IS DISTINCT FROM (1, NULL), (1, NULL) IS NOT DISTINCT FROM (1, 2);
-- false | false

SELECT * FROM t WHERE (a, b) = (1, 2);
-- 1 | 2
SELECT * FROM t WHERE (a, b) <> (1, 2);
-- 1 | 1
-- 2 | 1
-- 2 | NULL
-- NULL | 1
SELECT * FROM t WHERE (a, b) > (1, 1);
-- 1 | 2
-- 2 | 1
-- 2 | NULL
SELECT * FROM t WHERE (a, b) IN ((1, 2), (2, 1), (2, 2));
-- 1 | 2
-- 2 | 1
SELECT a, b, (a, b) IN ((1, 2), (2, 1)) FROM t;
-- 1 | 1 | false
-- 1 | 2 | true
-- 2 | 1 | true
-- 2 | NULL | NULL
-- NULL | 1 | NULL
SELECT a, b, (a, b) NOT IN ((1, NULL), (2, 1)) FROM t;
-- 1 | 1 | NULL
-- 1 | 2 | NULL
-- 2 | 1 | false
-- 2 | NULL | NULL
-- NULL | 1 | NULL

-- Rows of a query.
SELECT * FROM t WHERE (a, b) IN (SELECT x, y FROM u);
-- 1 | 2
SELECT * FROM t WHERE (a, b) NOT IN (SELECT x, y FROM u);
-- 1 | 1
SELECT a, b, (a, b) IN (SELECT x, y FROM u) FROM t;
-- 1 | 1 | false
-- 1 | 2 | true
-- 2 | 1 | NULL
-- 2 | NULL | NULL
-- NULL | 1 | NULL
SELECT a, b, (a, b) IN (SELECT x, y FROM u WHERE x > 5) FROM t;
-- 1 | 1 | false
-- 1 | 2 | false
-- 2 | 1 | false
-- 2 | NULL | false
-- NULL | 1 | false
SELECT * FROM t WHERE (a, b) = (SELECT x, y FROM u WHERE x = 1);
-- 1 | 2
SELECT * FROM t WHERE (a, b) < ANY (SELECT x, y FROM u WHERE y IS NOT NULL);
-- 1 | 1
-- 1 | 2
-- 2 | 1
-- 2 | NULL
SELECT * FROM t WHERE (b, a) IN (SELECT x, x FROM u WHERE u.x <= t.a);
-- 1 | 1

SELECT (1, 2) = (1, 2, 3);
-- error: ProgrammingError: a row of 2 values cannot be compared with one of 3 (line 1, column 9)
SELECT * FROM t WHERE (a, b) IN (SELECT x FROM u);
-- error: ProgrammingError: the subquery has 1 columns, but is compared with 2 (line 1, column 24)
SELECT * FROM t WHERE (a, b) = 1;
-- error: ProgrammingError: a row of 2 values cannot be compared with one of 1 (line 1, column 24)
SELECT (a, b) FROM t;
-- {'f1': 1, 'f2': 1}
-- {'f1': 1, 'f2': 2}
-- {'f1': 2, 'f2': 1}
-- {'f1': 2, 'f2': None}
-- {'f1': None, 'f2': 1}
SELECT * FROM t WHERE (a, b) = (SELECT x, y FROM u);
-- error: DataError: a subquery used as an expression gave more than one row

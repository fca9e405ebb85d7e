CREATE TABLE a (x INTEGER, y VARCHAR);

CREATE TABLE b (x BIGINT, y VARCHAR);

INSERT INTO a VALUES (1, 'one'), (1, 'one'), (2, 'two'), (NULL, NULL), (NULL, NULL), (4, 'four');

INSERT INTO b VALUES (1, 'one'), (2, 'zwei'), (NULL, NULL), (4, 'four'), (4, 'four');

SELECT x, y FROM a UNION SELECT x, y FROM b ORDER BY x, y;
-- 1 | 'one'
-- 2 | 'two'
-- 2 | 'zwei'
-- 4 | 'four'
-- NULL | NULL
SELECT x FROM a UNION ALL SELECT x FROM b ORDER BY x;
-- 1
-- 1
-- 1
-- 2
-- 2
-- 4
-- 4
-- 4
-- NULL
-- NULL
-- NULL
SELECT * FROM a INTERSECT SELECT * FROM b ORDER BY x;
-- 1 | 'one'
-- 4 | 'four'
-- NULL | NULL
SELECT * FROM a EXCEPT SELECT * FROM b ORDER BY x;
-- 2 | 'two'
SELECT * FROM b EXCEPT SELECT * FROM a;
-- 2 | 'zwei'

-- ALL counts the copies of a row.
SELECT * FROM a INTERSECT ALL SELECT * FROM b ORDER BY x;
-- 1 | 'one'
-- 4 | 'four'
-- NULL | NULL
SELECT * FROM a EXCEPT ALL SELECT * FROM b ORDER BY x;
-- 1 | 'one'
-- 2 | 'two'
-- NULL | NULL
SELECT * FROM b EXCEPT ALL SELECT * FROM a ORDER BY x;
-- 2 | 'zwei'
-- 4 | 'four'
SELECT x FROM a EXCEPT DISTINCT SELECT 2 ORDER BY x;
-- 1
-- 4
-- NULL

-- INTERSECT binds tighter than UNION and EXCEPT, which go from left to right.
SELECT 1 UNION SELECT 2 INTERSECT SELECT 2 ORDER BY 1;
-- 1
-- 2
(SELECT 1 UNION SELECT 2) INTERSECT SELECT 2;
-- 2
SELECT 1 EXCEPT SELECT 2 EXCEPT SELECT 1;
-- (no rows)
SELECT 1 EXCEPT (SELECT 2 EXCEPT SELECT 1);
-- 1
SELECT 1 UNION ALL SELECT 1 UNION SELECT 2 ORDER BY 1;
-- 1
-- 2
SELECT 1 UNION SELECT 2 UNION ALL SELECT 2 ORDER BY 1;
-- 1
-- 2
-- 2

-- The first query names the columns; ORDER BY and LIMIT are of the whole.
SELECT x AS k FROM a UNION ALL SELECT x FROM b ORDER BY k DESC NULLS LAST LIMIT 3 OFFSET 1;
-- 4
-- 4
-- 2
SELECT x AS k FROM a UNION SELECT x FROM b ORDER BY k % 3, k LIMIT 2;
-- 1
-- 4
(SELECT x FROM a ORDER BY x LIMIT 1) UNION ALL (SELECT x FROM b ORDER BY x DESC NULLS LAST LIMIT 1) ORDER BY 1;
-- 1
-- 4
SELECT k, count(*) FROM (SELECT x AS k FROM a UNION ALL SELECT x FROM b) AS t GROUP BY k ORDER BY k;
-- 1 | 3
-- 2 | 2
-- 4 | 3
-- NULL | 3
VALUES (1, 'a'), (2, 'b') UNION SELECT 2, 'b' ORDER BY 1;
-- 1 | 'a'
-- 2 | 'b'
TABLE a EXCEPT TABLE b ORDER BY 1;
-- 2 | 'two'

-- Types meet by position; constants and NULL adapt.
SELECT 1 UNION ALL SELECT 2.5 UNION ALL SELECT NULL ORDER BY 1;
-- 1.0
-- 2.5
-- NULL
SELECT NULL AS n UNION ALL SELECT 'text' ORDER BY 1;
-- 'text'
-- NULL
SELECT DATE '2024-02-29' AS d UNION ALL SELECT '2024-03-01' ORDER BY d;
-- 2024-02-29
-- 2024-03-01
SELECT 1::SMALLINT UNION ALL SELECT 3000000000 ORDER BY 1;
-- 1
-- 3000000000
SELECT 0.5 UNION ALL SELECT 1e0 ORDER BY 1;
-- 0.5
-- 1.0

-- BY NAME: a column that a query does not have is NULL there.
SELECT 1 AS p, 'x' AS q UNION ALL BY NAME SELECT 2.5 AS r, 'y' AS q;
-- 1 | 'x' | NULL
-- NULL | 'y' | 2.5
SELECT 1 AS p, 2 AS q UNION BY NAME SELECT 2 AS q, 1 AS p;
-- 1 | 2

-- Inside of other queries.
SELECT count(*) FROM a WHERE x IN (SELECT x FROM b INTERSECT SELECT 4);
-- 1
INSERT INTO a SELECT 7, 'seven' UNION ALL SELECT 8, 'eight';

SELECT x FROM a WHERE x > 4 ORDER BY x;
-- 7
-- 8

SELECT 1, 2 UNION SELECT 3;
-- error: ProgrammingError: the queries of UNION must have the same number of columns: the first has 2, and number 2 has 1
SELECT x FROM a UNION SELECT y FROM b;
-- error: ProgrammingError: column 'x' of UNION: cannot combine 'x' (INTEGER) with 'y' (VARCHAR) (line 1, column 8)
SELECT 'a' UNION SELECT 1;
-- error: DataError: 'a' is not a valid INTEGER
SELECT x FROM a UNION SELECT x FROM b ORDER BY y;
-- error: ProgrammingError: column 'y' does not exist (line 1, column 48)
SELECT x FROM a UNION SELECT x FROM b ORDER BY 2;
-- error: ProgrammingError: ORDER BY position 2 is not in the SELECT list, which has 1
SELECT 1 INTERSECT BY NAME SELECT 1;
-- error: ProgrammingError: INTERSECT BY NAME does not exist; only UNION has it
SELECT 1 AS p, 2 AS p UNION BY NAME SELECT 1 AS p;
-- error: ProgrammingError: UNION BY NAME: a query has two columns 'p' (line 1, column 13)
SELECT nothing FROM a UNION SELECT 1;
-- error: ProgrammingError: column 'nothing' does not exist in 'a' (line 1, column 8)

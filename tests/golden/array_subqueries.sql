CREATE TABLE s (k INTEGER, x INTEGER);

INSERT INTO s VALUES (1, 5), (2, 3), (1, 9), (2, NULL);

SELECT ARRAY(SELECT x FROM s ORDER BY x DESC NULLS LAST);
-- [9, 5, 3, None]

SELECT ARRAY(SELECT x FROM s WHERE k = 9), array(SELECT 'a' UNION ALL SELECT 'b' ORDER BY 1);
-- [] | ['a', 'b']

SELECT o.k, ARRAY(SELECT x FROM s WHERE s.k = o.k ORDER BY x DESC NULLS FIRST) FROM (VALUES (1), (2), (3)) o(k) ORDER BY o.k;
-- 1 | [9, 5]
-- 2 | [None, 3]
-- 3 | []

SELECT o.k, ARRAY(SELECT x FROM s WHERE s.k = o.k ORDER BY x LIMIT 1) FROM (VALUES (1), (2), (3)) o(k) ORDER BY o.k;
-- 1 | [5]
-- 2 | [3]
-- 3 | []

SELECT len(ARRAY(FROM range(3))), ARRAY(VALUES (1), (2))[2], 3 = ANY (ARRAY(SELECT x FROM s));
-- 3 | 2 | true

SELECT ARRAY(SELECT k, x FROM s);
-- error: ProgrammingError: the query of ARRAY() must have one column, not 2 (line 1, column 21)

SELECT ARRAY(SELECT nothing FROM s);
-- error: ProgrammingError: column 'nothing' does not exist in 's' (line 1, column 21)

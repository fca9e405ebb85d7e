-- A comparison with some or all rows of VALUES.
SELECT 5 <> SOME (VALUES (5), (6)) AS a, 5 = ANY (VALUES (5)) AS b, 5 > ALL (VALUES (1), (2)) AS c, 5 IN ((VALUES (5), (6))) AS d;
-- true | true | true | true

SELECT 5 = SOME (SELECT 5) AS a, (1, 2) = ANY (VALUES (1, 2), (NULL, 3)) AS b, 5 = ANY (VALUES (1), (NULL)) AS c, 5 = SOME ([4, 5]) AS d;
-- true | true | NULL | true

SELECT x FROM (VALUES (1), (2), (3)) AS t (x) WHERE x < ALL (VALUES (3), (4)) ORDER BY x;
-- 1
-- 2

SELECT 5 = ANY (VALUES (1, 2));
-- error: ProgrammingError: the subquery has 2 columns, but is compared with 1 (line 1, column 8)

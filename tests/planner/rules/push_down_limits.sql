CREATE TABLE t (a INTEGER, b INTEGER);

CREATE TABLE u (a INTEGER, d INTEGER);

SELECT DISTINCT ON (a) a, b FROM t ORDER BY a LIMIT 5;
-- before:
--   Limit 5
--     Project a, b
--       Sort a
--         Filter (row_number = 1)
--           Window row_number() OVER (PARTITION BY a ORDER BY a ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
--             Project a, b
--               Scan t (a, b)
-- after:
--   Project a, b
--     Limit 5
--       Sort a
--         Filter (row_number = 1)
--           Window row_number() OVER (PARTITION BY a ORDER BY a ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
--             Project a, b
--               Scan t (a, b)

SELECT * FROM (SELECT a + 1 AS x FROM t) AS s RIGHT JOIN u ON x = d LIMIT 5;
-- before:
--   Limit 5
--     Project x, a, d
--       OuterJoin right (x = d)
--         Project x := (a + 1)
--           Scan t (a, b)
--         Scan u (a, d)
-- after:
--   Project x, a, d
--     Limit 5
--       OuterJoin right (x = d)
--         Project x := (a + 1)
--           Scan t (a, b)
--         Scan u (a, d)

SELECT a FROM t UNION ALL SELECT d FROM u LIMIT 5 OFFSET 1;
-- before:
--   Limit 5 after 1
--     Project a
--       Union (a)
--         Project a
--           Scan t (a, b)
--         Project d
--           Scan u (a, d)
-- after:
--   Project a
--     Limit 5 after 1
--       Union (a)
--         Project a
--           Limit 6
--             Scan t (a, b)
--         Project d
--           Limit 6
--             Scan u (a, d)

-- Each row on the left gives one or more; a row on the right may give none.
SELECT t.a, d FROM t LEFT JOIN u ON t.a = u.a LIMIT 5;
-- before:
--   Limit 5
--     Project a, d
--       OuterJoin left (a = a)
--         Scan t (a, b)
--         Scan u (a, d)
-- after:
--   Project a, d
--     Limit 5
--       OuterJoin left (a = a)
--         Limit 5
--           Scan t (a, b)
--         Scan u (a, d)

SELECT t.a, d FROM t RIGHT JOIN u ON t.a = u.a LIMIT 5;
-- before:
--   Limit 5
--     Project a, d
--       OuterJoin right (a = a)
--         Scan t (a, b)
--         Scan u (a, d)
-- after:
--   Project a, d
--     Limit 5
--       OuterJoin right (a = a)
--         Scan t (a, b)
--         Scan u (a, d)

SELECT t.a, d FROM t JOIN u ON t.a = u.a LIMIT 5;
-- before:
--   Limit 5
--     Project a, d
--       InnerJoin (a = a)
--         Scan t (a, b)
--         Scan u (a, d)
-- after:
--   Project a, d
--     Limit 5
--       InnerJoin (a = a)
--         Scan t (a, b)
--         Scan u (a, d)

-- The order comes before the limit.
SELECT a FROM (SELECT a FROM t UNION ALL SELECT a FROM u) AS s ORDER BY a LIMIT 5;
-- unchanged:
--   Limit 5
--     Sort a
--       Project a
--         Union (a)
--           Project a
--             Scan t (a, b)
--           Project a
--             Scan u (a, d)

SELECT DISTINCT a FROM t LIMIT 5;
-- unchanged:
--   Limit 5
--     Aggregate distinct by a [star of t]
--       Scan t (a, b)

-- Limits merge.
SELECT a FROM (SELECT a FROM t LIMIT 10 OFFSET 2) AS s LIMIT 20 OFFSET 3;
-- before:
--   Limit 20 after 3
--     Project a
--       Limit 10 after 2
--         Project a
--           Scan t (a, b)
-- after:
--   Project a
--     Project a
--       Limit 7 after 5
--         Scan t (a, b)

-- Of a cross join, each side gives the first rows; a condition keeps the limit above.
SELECT * FROM t CROSS JOIN u LIMIT 5 OFFSET 2;
-- before:
--   Limit 5 after 2
--     Project a, b, a, d
--       InnerJoin
--         Scan t (a, b)
--         Scan u (a, d)
-- after:
--   Project a, b, a, d
--     Limit 5 after 2
--       InnerJoin
--         Limit 7
--           Scan t (a, b)
--         Limit 7
--           Scan u (a, d)

SELECT * FROM t JOIN u USING (a) LIMIT 5;
-- before:
--   Limit 5
--     Project a, b, d
--       InnerJoin (a = a)
--         Scan t (a, b)
--         Scan u (a, d)
-- after:
--   Project a, b, d
--     Limit 5
--       InnerJoin (a = a)
--         Scan t (a, b)
--         Scan u (a, d)

CREATE TABLE t (a INTEGER, b BOOLEAN);

-- What does not depend on a row is computed once.
SELECT a + (2 * 3) FROM t WHERE a < 2 + 3;
-- before:
--   Project a + (2 * 3) := (a + (2 * 3))
--     Filter (a < (2 + 3))
--       Scan t (a, b)
-- after:
--   Project a + (2 * 3) := (a + 6)
--     Filter (a < 5)
--       Scan t (a, b)

-- A constant decides AND and OR, or goes.
SELECT a FROM t WHERE b AND 1 < 2 OR 1 > 2;
-- before:
--   Project a
--     Filter ((b AND (1 < 2)) OR (1 > 2))
--       Scan t (a, b)
-- after:
--   Project a
--     Filter b
--       Scan t (a, b)

-- Two negations are none.
SELECT a FROM t WHERE NOT (a IS DISTINCT FROM 3);
-- before:
--   Project a
--     Filter NOT NOT (a IS NOT DISTINCT FROM 3)
--       Scan t (a, b)
-- after:
--   Project a
--     Filter (a IS NOT DISTINCT FROM 3)
--       Scan t (a, b)

-- An error is left to the rows that reach it.
SELECT a FROM t WHERE b OR a < 1 / 0;
-- unchanged:
--   Project a
--     Filter (b OR (a < (1 / 0)))
--       Scan t (a, b)

CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER);

-- What all branches of an OR say comes out of it.
SELECT a FROM t WHERE (a = 1 AND b = 2) OR (a = 1 AND c = 3);
-- before:
--   Project a
--     Filter (((a = 1) AND (b = 2)) OR ((a = 1) AND (c = 3)))
--       Scan t (a, b, c)
-- after:
--   Project a
--     Filter ((a = 1) AND ((b = 2) OR (c = 3)))
--       Scan t (a, b, c)

-- A branch that says nothing else makes the OR true.
SELECT a FROM t WHERE (a = 1 AND b = 2) OR a = 1;
-- before:
--   Project a
--     Filter (((a = 1) AND (b = 2)) OR (a = 1))
--       Scan t (a, b, c)
-- after:
--   Project a
--     Filter (a = 1)
--       Scan t (a, b, c)

-- What may fail stays where it is.
SELECT a FROM t WHERE (a = 1 AND 1 / b = 2) OR (a = 1 AND c = 3);
-- unchanged:
--   Project a
--     Filter (((a = 1) AND ((1 / b) = 2)) OR ((a = 1) AND (c = 3)))
--       Scan t (a, b, c)

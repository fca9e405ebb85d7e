CREATE TABLE one (k INTEGER, name VARCHAR);

CREATE TABLE other (k INTEGER, name VARCHAR);

-- TPC-H, query 7: each side is one of two names, whatever the other is.
SELECT one.k FROM one, other
WHERE one.k = other.k
  AND (one.name = 'A' AND other.name = 'B' OR one.name = 'B' AND other.name = 'A');
-- before:
--   Project k
--     InnerJoin (k = k) AND (((name = 'A') AND (name = 'B')) OR ((name = 'B') AND (name = 'A')))
--       Scan one (k, name)
--       Scan other (k, name)
-- after:
--   Project k
--     InnerJoin (k = k) AND (((name = 'A') AND (name = 'B')) OR ((name = 'B') AND (name = 'A'))) AND ((name = 'A') OR (name = 'B')) AND ((name = 'B') OR (name = 'A'))
--       Scan one (k, name)
--       Scan other (k, name)

-- What a column is, the column that it equals is too.
SELECT one.name FROM one, other WHERE one.k = other.k AND one.k = 5;
-- before:
--   Project name
--     InnerJoin (k = k) AND (k = 5)
--       Scan one (k, name)
--       Scan other (k, name)
-- after:
--   Project name
--     InnerJoin (k = k) AND (k = 5) AND (k = 5)
--       Scan one (k, name)
--       Scan other (k, name)

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

-- So it is for what has no partner: such rows are left out by the filter above, whatever it says.
SELECT one.name, two.name, three.name
FROM one LEFT JOIN other AS two ON one.k = two.k AND two.name = 'A'
  LEFT JOIN other AS three ON three.k = one.k
WHERE one.k > 5;
-- before:
--   Project name, name, name
--     Filter (k > 5)
--       OuterJoin left (k = k)
--         OuterJoin left (k = k) AND (name = 'A')
--           Scan one (k, name)
--           Scan other (k, name)
--         Scan other (k, name)
-- after:
--   Project name, name, name
--     Filter (k > 5)
--       OuterJoin left (k = k) AND (k > 5)
--         OuterJoin left (k = k) AND (name = 'A') AND (k > 5)
--           Scan one (k, name)
--           Scan other (k, name)
--         Scan other (k, name)

-- A filter of the join itself holds for partners alone.
SELECT one.name, other.name FROM one LEFT JOIN other ON one.k = other.k AND one.k = 5;
-- unchanged:
--   Project name, name
--     OuterJoin left (k = k) AND (k = 5)
--       Scan one (k, name)
--       Scan other (k, name)

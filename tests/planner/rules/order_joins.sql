CREATE TABLE big (k INTEGER, v INTEGER);

CREATE TABLE small (k INTEGER PRIMARY KEY, g INTEGER);

CREATE TABLE tiny (g INTEGER PRIMARY KEY, name VARCHAR);

INSERT INTO big SELECT i % 100, i FROM range(10000) r(i);

INSERT INTO small SELECT i, i % 5 FROM range(100) r(i);

INSERT INTO tiny VALUES (0, 'a'), (1, 'b'), (2, 'c'), (3, 'd'), (4, 'e');

-- The smallest results first; the larger side streams.
SELECT v FROM big, small, tiny WHERE big.k = small.k AND small.g = tiny.g AND tiny.name = 'a';
-- before:
--   Project v
--     InnerJoin (k = k) AND (g = g)
--       Scan big (k, v)
--       Scan small (k, g)
--       Filter (name = 'a')
--         Scan tiny (g, name)
-- after:
--   Project v
--     InnerJoin (k = k)
--       Scan big (k, v)
--       InnerJoin (g = g)
--         Scan small (k, g)
--         Filter (name = 'a')
--           Scan tiny (g, name)

-- Equalities are transitive: one of each class is checked at each join.
SELECT count(*) FROM big AS x, big AS y, small WHERE x.k = y.k AND y.k = small.k AND small.g = 1;
-- before:
--   Project count(*) := count_star
--     Aggregate count(*)
--       InnerJoin (k = k) AND (k = k)
--         Scan big (k, v)
--         Scan big (k, v)
--         Filter (g = 1)
--           Scan small (k, g)
-- after:
--   Project count(*) := count_star
--     Aggregate count(*)
--       InnerJoin (k = k)
--         Scan big (k, v)
--         InnerJoin (k = k)
--           Scan big (k, v)
--           Filter (g = 1)
--             Scan small (k, g)

-- What nothing connects is joined last.
SELECT count(*) FROM tiny, big, small WHERE big.k = small.k;
-- before:
--   Project count(*) := count_star
--     Aggregate count(*)
--       InnerJoin (k = k)
--         Scan tiny (g, name)
--         Scan big (k, v)
--         Scan small (k, g)
-- after:
--   Project count(*) := count_star
--     Aggregate count(*)
--       InnerJoin
--         InnerJoin (k = k)
--           Scan big (k, v)
--           Scan small (k, g)
--         Scan tiny (g, name)

CREATE TABLE sold (id INTEGER, day INTEGER, shop INTEGER);

CREATE TABLE returned (sold INTEGER, amount INTEGER);

CREATE TABLE day (id INTEGER PRIMARY KEY, year INTEGER);

CREATE TABLE twice (day INTEGER);

INSERT INTO sold SELECT range, range % 100, range % 3 FROM range(1000);

INSERT INTO returned SELECT range, range FROM range(100);

INSERT INTO day SELECT range, range / 50 FROM range(100);

INSERT INTO twice SELECT range % 10 FROM range(1000);

-- The days leave some sales, of which alone the returns are wanted.
SELECT sold.id, amount FROM sold LEFT JOIN returned ON sold.id = returned.sold, day WHERE sold.day = day.id AND year = 1;
-- before:
--   Project id, amount
--     InnerJoin (day = id)
--       OuterJoin left (id = sold)
--         Scan sold (id, day, shop)
--         Scan returned (sold, amount)
--       Filter (year = 1)
--         Scan day (id, year)
-- after:
--   Project id, amount
--     Project id, day, shop, sold, amount, id, year
--       OuterJoin left (id = sold)
--         InnerJoin (day = id)
--           Scan sold (id, day, shop)
--           Filter (year = 1)
--             Scan day (id, year)
--         Scan returned (sold, amount)

-- What asks for the returns stays above.
SELECT sold.id FROM day, sold LEFT JOIN returned ON sold.id = returned.sold WHERE sold.day = day.id AND year = 1 AND (amount > shop OR amount IS NULL);
-- before:
--   Project id
--     InnerJoin (day = id)
--       Filter (year = 1)
--         Scan day (id, year)
--       Filter ((amount > shop) OR (amount IS NULL))
--         OuterJoin left (id = sold)
--           Scan sold (id, day, shop)
--           Scan returned (sold, amount)
-- after:
--   Project id
--     Project id, year, id, day, shop, sold, amount
--       Filter ((amount > shop) OR (amount IS NULL))
--         OuterJoin left (id = sold)
--           InnerJoin (day = id)
--             Scan sold (id, day, shop)
--             Filter (year = 1)
--               Scan day (id, year)
--           Scan returned (sold, amount)

-- A join that leaves more rows had better come last.
SELECT sold.id, amount FROM sold LEFT JOIN returned ON sold.id = returned.sold JOIN twice ON sold.day = twice.day;
-- unchanged:
--   Project id, amount
--     InnerJoin (day = day)
--       OuterJoin left (id = sold)
--         Scan sold (id, day, shop)
--         Scan returned (sold, amount)
--       Scan twice (day)

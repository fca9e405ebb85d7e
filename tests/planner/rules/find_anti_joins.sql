CREATE TABLE sold (id INTEGER, item INTEGER, price INTEGER);

CREATE TABLE returned (sold INTEGER, item INTEGER, amount INTEGER);

-- No pair has NULL in a key.
SELECT id, price FROM sold LEFT JOIN returned r ON id = sold AND sold.item = r.item WHERE sold IS NULL AND price > 3;
-- before:
--   Project id, price
--     Filter (sold IS NULL)
--       OuterJoin left (id = sold) AND (item = item)
--         Filter (price > 3)
--           Scan sold (id, item, price)
--         Scan returned (sold, item, amount)
-- after:
--   Project id, price
--     Project id, item, price, sold := NULL, item := NULL, amount := NULL
--       SemiJoin anti (id = sold) AND (item = item)
--         Filter (price > 3)
--           Scan sold (id, item, price)
--         Scan returned (sold, item, amount)

-- Columns of the right side are NULL.
SELECT id, amount, coalesce(amount, 0) FROM sold LEFT JOIN returned r ON id = sold WHERE sold IS NULL AND coalesce(amount, 1) > 0;
-- before:
--   Project id, amount, coalesce(amount, 0)
--     Filter ((sold IS NULL) AND (coalesce(amount, 1) > 0))
--       OuterJoin left (id = sold)
--         Scan sold (id, item, price)
--         Scan returned (sold, item, amount)
-- after:
--   Project id, amount, coalesce(amount, 0)
--     Filter (coalesce(amount, 1) > 0)
--       Project id, item, price, sold := NULL, item := NULL, amount := NULL
--         SemiJoin anti (id = sold)
--           Scan sold (id, item, price)
--           Scan returned (sold, item, amount)

-- A pair may have NULL in another column.
SELECT id FROM sold LEFT JOIN returned r ON id = sold WHERE amount IS NULL;
-- unchanged:
--   Project id
--     Filter (amount IS NULL)
--       OuterJoin left (id = sold)
--         Scan sold (id, item, price)
--         Scan returned (sold, item, amount)

-- So may one whose key is compared with NULL for NULL.
SELECT id FROM sold LEFT JOIN returned r ON id IS NOT DISTINCT FROM sold WHERE sold IS NULL;
-- unchanged:
--   Project id
--     Filter (sold IS NULL)
--       OuterJoin left (id IS NOT DISTINCT FROM sold)
--         Scan sold (id, item, price)
--         Scan returned (sold, item, amount)

-- Rows of the right side without a partner are kept too.
SELECT id FROM sold FULL JOIN returned r ON id = sold WHERE sold IS NULL AND id IS NULL;
-- unchanged:
--   Project id
--     Filter ((sold IS NULL) AND (id IS NULL))
--       OuterJoin full (id = sold)
--         Scan sold (id, item, price)
--         Scan returned (sold, item, amount)

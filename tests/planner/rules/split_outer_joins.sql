CREATE TABLE day (id INTEGER PRIMARY KEY, year INTEGER);

CREATE TABLE sale (sale_id INTEGER PRIMARY KEY, day_id INTEGER NOT NULL REFERENCES day (id), price INTEGER);

CREATE TABLE refund (sale INTEGER NOT NULL REFERENCES sale (sale_id), amount INTEGER);

CREATE TABLE gift (sale INTEGER NOT NULL UNIQUE REFERENCES sale (sale_id), amount INTEGER);

CREATE BVH sales ON sale (SCAN (year), AGGREGATE (price));

CREATE BVH refunds ON refund (SCAN (year), AGGREGATE (amount));

CREATE BVH gifts ON gift (SCAN (year), AGGREGATE (amount));

-- The sales give the groups, and the pairs of a sale and a refund what is asked of refunds.
SELECT year, sum(amount), count(refund.sale), min(price) FROM sale LEFT JOIN refund ON refund.sale = sale_id, day WHERE day_id = id AND year = 1994 GROUP BY year;
-- before:
--   Project year, sum(amount) := sum, count(refund.sale) := count, min(price) := min
--     Aggregate sum(amount), count(sale), min(price) by year
--       InnerJoin (day_id = id) AND (year = 1994)
--         OuterJoin left (sale = sale_id)
--           Scan sale (sale_id, day_id, price)
--           Scan refund (sale, amount)
--         Scan day (id, year)
-- after:
--   Project year, sum(amount) := sum, count(refund.sale) := count, min(price) := min
--     Project year, sum, count := coalesce(count, 0), min
--       Aggregate sum(sum), sum(count), min(min) by year
--         Union (year, sum, count, min)
--           Project year, sum := NULL, count := 0, min
--             Aggregate min(price) by year
--               InnerJoin (day_id = id) AND (year = 1994)
--                 Scan sale (sale_id, day_id, price)
--                 Scan day (id, year)
--           Project year, sum, count, min := NULL
--             Aggregate sum(amount), count(sale) by year
--               InnerJoin (day_id = id) AND (year = 1994)
--                 InnerJoin (sale = sale_id)
--                   Scan sale (sale_id, day_id, price)
--                   Scan refund (sale, amount)
--                 Scan day (id, year)

-- A sale with two refunds would be counted twice: only a key says that there are none.
SELECT year, sum(amount), count(*) FROM sale LEFT JOIN refund ON refund.sale = sale_id JOIN day ON day_id = id GROUP BY year;
-- unchanged:
--   Project year, sum(amount) := sum, count(*) := count_star
--     Aggregate sum(amount), count(*) by year
--       InnerJoin (day_id = id)
--         OuterJoin left (sale = sale_id)
--           Scan sale (sale_id, day_id, price)
--           Scan refund (sale, amount)
--         Scan day (id, year)

SELECT year, sum(amount), count(*) FROM sale LEFT JOIN gift ON gift.sale = sale_id AND amount > 3 JOIN day ON day_id = id GROUP BY year;
-- before:
--   Project year, sum(amount) := sum, count(*) := count_star
--     Aggregate sum(amount), count(*) by year
--       InnerJoin (day_id = id)
--         OuterJoin left (sale = sale_id) AND (amount > 3)
--           Scan sale (sale_id, day_id, price)
--           Scan gift (sale, amount)
--         Scan day (id, year)
-- after:
--   Project year, sum(amount) := sum, count(*) := count_star
--     Project year, sum, count_star := coalesce(count_star, 0)
--       Aggregate sum(sum), sum(count_star) by year
--         Union (year, sum, count_star)
--           Project year, sum := NULL, count_star
--             Aggregate count(*) by year
--               InnerJoin (day_id = id)
--                 Scan sale (sale_id, day_id, price)
--                 Scan day (id, year)
--           Project year, sum, count_star := 0
--             Aggregate sum(amount) by year
--               InnerJoin (day_id = id)
--                 InnerJoin (sale = sale_id) AND (amount > 3)
--                   Scan sale (sale_id, day_id, price)
--                   Scan gift (sale, amount)
--                 Scan day (id, year)

-- What is not NULL for a sale without refunds is left alone, and so is a key of the right side.
SELECT year, sum(coalesce(amount, 1)) FROM sale LEFT JOIN refund ON refund.sale = sale_id JOIN day ON day_id = id GROUP BY year;
-- unchanged:
--   Project year, sum(coalesce(amount, 1)) := sum
--     Aggregate sum(coalesce(amount, 1)) by year
--       InnerJoin (day_id = id)
--         OuterJoin left (sale = sale_id)
--           Scan sale (sale_id, day_id, price)
--           Scan refund (sale, amount)
--         Scan day (id, year)

SELECT amount, min(price) FROM sale LEFT JOIN refund ON refund.sale = sale_id GROUP BY amount;
-- unchanged:
--   Project amount, min(price) := min
--     Aggregate min(price) by amount
--       OuterJoin left (sale = sale_id)
--         Scan sale (sale_id, day_id, price)
--         Scan refund (sale, amount)

SELECT year, sum(amount) FROM sale LEFT JOIN refund ON refund.sale = sale_id JOIN day ON day_id = id WHERE amount IS NULL GROUP BY year;
-- unchanged:
--   Project year, sum(amount) := sum
--     Aggregate sum(amount) by year
--       InnerJoin (day_id = id) AND (amount IS NULL)
--         OuterJoin left (sale = sale_id)
--           Scan sale (sale_id, day_id, price)
--           Scan refund (sale, amount)
--         Scan day (id, year)

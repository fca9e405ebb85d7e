CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR);

CREATE TABLE sale (shop_id INTEGER NOT NULL REFERENCES shop (id), price INTEGER);

CREATE TABLE other (shop_id INTEGER, price INTEGER);

CREATE BVH cities ON sale (SCAN (city), AGGREGATE (price));

-- Each branch is a star, and the groups of both are put together.
SELECT city, sum(p), count(*) FROM (SELECT shop_id AS s, price AS p FROM sale UNION ALL SELECT shop_id, 0 - price FROM sale) AS u JOIN shop ON s = id WHERE city > 'A' GROUP BY city;
-- before:
--   Project city, sum(p) := sum, count(*) := count_star
--     Aggregate sum(p), count(*) by city
--       InnerJoin (s = id) AND (city > 'A')
--         Union (s, p)
--           Project s := shop_id, p := price
--             Scan sale (shop_id, price)
--           Project shop_id, 0 - price := (0 - price)
--             Scan sale (shop_id, price)
--         Scan shop (id, city)
-- after:
--   Project city, sum(p) := sum, count(*) := count_star
--     Project city, sum, count_star := coalesce(count_star, 0)
--       Aggregate sum(sum), sum(count_star) by city
--         Union (city, sum, count_star)
--           Aggregate sum(price), count(*) by city
--             InnerJoin (shop_id = id) AND (city > 'A')
--               Scan sale (shop_id, price)
--               Scan shop (id, city)
--           Aggregate sum((0 - price)), count(*) by city
--             InnerJoin (shop_id = id) AND (city > 'A')
--               Scan sale (shop_id, price)
--               Scan shop (id, city)

-- A branch that is no star leaves the whole as it is.
SELECT city, sum(p) FROM (SELECT shop_id AS s, price AS p FROM sale UNION ALL SELECT shop_id, price FROM other) AS u JOIN shop ON s = id GROUP BY city;
-- unchanged:
--   Project city, sum(p) := sum
--     Aggregate sum(p) by city
--       InnerJoin (s = id)
--         Union (s, p)
--           Project s := shop_id, p := price
--             Scan sale (shop_id, price)
--           Project shop_id, price
--             Scan other (shop_id, price)
--         Scan shop (id, city)

CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR);

CREATE TABLE sale (shop_id INTEGER NOT NULL REFERENCES shop (id), price INTEGER);

-- The join only looks columns up.
SELECT city, sum(price) FROM sale JOIN shop ON shop_id = id GROUP BY city;
-- before:
--   Project city, sum(price) := sum
--     Aggregate sum(price) by city
--       InnerJoin (shop_id = id)
--         Scan sale (shop_id, price)
--         Scan shop (id, city)
-- after:
--   Project city, sum(price) := sum
--     Aggregate sum(price) by city [star of sale]
--       InnerJoin (shop_id = id)
--         Scan sale (shop_id, price)
--         Scan shop (id, city)

-- Nothing says that these join each row once.
SELECT city, sum(price) FROM sale JOIN shop ON price = id GROUP BY city;
-- before:
--   Project city, sum(price) := sum
--     Aggregate sum(price) by city
--       InnerJoin (price = id)
--         Scan sale (shop_id, price)
--         Scan shop (id, city)
-- after:
--   Project city, sum(price) := sum
--     Aggregate sum(price) by city
--       InnerJoin (price = id)
--         Scan sale (shop_id, price)
--         Scan shop (id, city)

-- Without foreign keys none of the joins is a star, which would stay as it is.
CREATE TABLE nation (n_key INTEGER PRIMARY KEY, n_name VARCHAR);

CREATE TABLE customer (c_key INTEGER PRIMARY KEY, c_name VARCHAR, c_nation INTEGER);

CREATE TABLE orders (o_key INTEGER PRIMARY KEY, o_customer INTEGER, o_total DOUBLE);

CREATE TABLE item (i_order INTEGER, i_line INTEGER, i_price INTEGER, PRIMARY KEY (i_order, i_line));

-- The primary key determines the rest of its table, and through a join that of another one.
SELECT c_key, c_name, n_name, sum(o_total) FROM customer, orders, nation WHERE c_key = o_customer AND c_nation = n_key GROUP BY c_key, c_name, n_name;
-- before:
--   Project c_key, c_name, n_name, sum(o_total) := sum
--     Aggregate sum(o_total) by c_key, c_name, n_name
--       InnerJoin (c_nation = n_key)
--         InnerJoin (c_key = o_customer)
--           Scan customer (c_key, c_name, c_nation)
--           Scan orders (o_key, o_customer, o_total)
--         Scan nation (n_key, n_name)
-- after:
--   Project c_key, c_name, n_name, sum(o_total) := sum
--     Project c_key, c_name, n_name, sum
--       Aggregate first(c_name), first(n_name), sum(o_total) by c_key
--         InnerJoin (c_nation = n_key)
--           InnerJoin (c_key = o_customer)
--             Scan customer (c_key, c_name, c_nation)
--             Scan orders (o_key, o_customer, o_total)
--           Scan nation (n_key, n_name)

SELECT c_name, c_key, o_key, o_total, count(*) FROM customer JOIN orders ON c_key = o_customer GROUP BY c_name, c_key, o_key, o_total;
-- before:
--   Project c_name, c_key, o_key, o_total, count(*) := count_star
--     Aggregate count(*) by c_name, c_key, o_key, o_total
--       InnerJoin (c_key = o_customer)
--         Scan customer (c_key, c_name, c_nation)
--         Scan orders (o_key, o_customer, o_total)
-- after:
--   Project c_name, c_key, o_key, o_total, count(*) := count_star
--     Project c_name, c_key, o_key, o_total, count_star
--       Aggregate first(c_name), first(c_key), first(o_total), count(*) by o_key
--         InnerJoin (c_key = o_customer)
--           Scan customer (c_key, c_name, c_nation)
--           Scan orders (o_key, o_customer, o_total)

-- An outer join's condition proves nothing, but a row's own key does, NULL or not.
SELECT c_name, c_key, o_key, o_total, count(*) FROM customer LEFT JOIN orders ON c_key = o_customer GROUP BY c_name, c_key, o_key, o_total;
-- before:
--   Project c_name, c_key, o_key, o_total, count(*) := count_star
--     Aggregate count(*) by c_name, c_key, o_key, o_total
--       OuterJoin left (c_key = o_customer)
--         Scan customer (c_key, c_name, c_nation)
--         Scan orders (o_key, o_customer, o_total)
-- after:
--   Project c_name, c_key, o_key, o_total, count(*) := count_star
--     Project c_name, c_key, o_key, o_total, count_star
--       Aggregate first(c_name), first(o_total), count(*) by c_key, o_key
--         OuterJoin left (c_key = o_customer)
--           Scan customer (c_key, c_name, c_nation)
--           Scan orders (o_key, o_customer, o_total)

-- Part of a key is not enough.
SELECT i_order, i_price, count(*) FROM item JOIN nation ON n_key = i_line GROUP BY i_order, i_price;
-- unchanged:
--   Project i_order, i_price, count(*) := count_star
--     Aggregate count(*) by i_order, i_price
--       InnerJoin (i_line = n_key)
--         Scan item (i_order, i_line, i_price)
--         Scan nation (n_key, n_name)

SELECT i_order, i_line, i_price, n_name, count(*) FROM item JOIN nation ON n_key = i_line GROUP BY i_order, i_line, i_price, n_name;
-- before:
--   Project i_order, i_line, i_price, n_name, count(*) := count_star
--     Aggregate count(*) by i_order, i_line, i_price, n_name
--       InnerJoin (i_line = n_key)
--         Scan item (i_order, i_line, i_price)
--         Scan nation (n_key, n_name)
-- after:
--   Project i_order, i_line, i_price, n_name, count(*) := count_star
--     Project i_order, i_line, i_price, n_name, count_star
--       Aggregate first(i_price), first(n_name), count(*) by i_order, i_line
--         InnerJoin (i_line = n_key)
--           Scan item (i_order, i_line, i_price)
--           Scan nation (n_key, n_name)

-- Nor is a key of another copy of the table, or a key that an expression hides.
SELECT x.c_key, y.c_name FROM customer x, customer y WHERE x.c_nation = y.c_nation GROUP BY x.c_key, y.c_name;
-- unchanged:
--   Project c_key, c_name
--     Aggregate distinct by c_key, c_name
--       InnerJoin (c_nation = c_nation)
--         Scan customer (c_key, c_name, c_nation)
--         Scan customer (c_key, c_name, c_nation)

SELECT c_key + 1, c_name FROM customer JOIN nation ON n_key = c_nation GROUP BY c_key + 1, c_name;
-- unchanged:
--   Project c_key + 1, c_name
--     Aggregate distinct by c_key + 1 := (c_key + 1), c_name
--       InnerJoin (c_nation = n_key)
--         Scan customer (c_key, c_name, c_nation)
--         Scan nation (n_key, n_name)

-- Equal doubles may differ: 0.0 and -0.0.
SELECT x.o_key, x.o_total, y.o_total FROM orders x JOIN orders y ON x.o_total = y.o_total GROUP BY x.o_key, x.o_total, y.o_total;
-- before:
--   Project o_key, o_total, o_total
--     Aggregate distinct by o_key, o_total, o_total
--       InnerJoin (o_total = o_total)
--         Scan orders (o_key, o_customer, o_total)
--         Scan orders (o_key, o_customer, o_total)
-- after:
--   Project o_key, o_total, o_total
--     Project o_key, o_total, o_total
--       Aggregate first(o_total) by o_key, o_total
--         InnerJoin (o_total = o_total)
--           Scan orders (o_key, o_customer, o_total)
--           Scan orders (o_key, o_customer, o_total)

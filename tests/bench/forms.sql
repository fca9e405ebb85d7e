-- aggregates
SELECT d_year, sum(price) FROM sales, day WHERE day_id = d_id GROUP BY d_year;
SELECT s_city, sum(price), count(*) FROM sales, store WHERE store_id = s_id GROUP BY s_city;
SELECT i_category, avg(price) FROM sales, item WHERE item_id = i_id AND i_category < 'C5' GROUP BY i_category;
SELECT min(price), max(price), count(quantity) FROM sales, day WHERE day_id = d_id AND d_year = 2021;
SELECT d_month, s_state, sum(price * quantity) FROM sales, day, store WHERE day_id = d_id AND store_id = s_id AND d_year = 2022 GROUP BY d_month, s_state;
SELECT sum(price) FROM sales WHERE quantity BETWEEN 10 AND 12;
SELECT count(*) FROM sales, promo WHERE promo_id = p_id AND p_kind = 'K3';
SELECT i_brand, sum(price) FROM sales, item, store WHERE item_id = i_id AND store_id = s_id AND s_state = 'S2' GROUP BY i_brand;
-- filter
SELECT s_state, sum(price) FILTER (WHERE quantity > 50) FROM sales, store WHERE store_id = s_id GROUP BY s_state;
SELECT d_year, sum(price) FILTER (WHERE d_quarter = 1), sum(price) FILTER (WHERE d_quarter = 2) FROM sales, day WHERE day_id = d_id GROUP BY d_year;
SELECT count(*) FILTER (WHERE i_category = 'C1'), count(*) FILTER (WHERE i_category = 'C2') FROM sales, item WHERE item_id = i_id;
SELECT s_city, sum(CASE WHEN d_year = 2021 THEN price ELSE 0 END) FROM sales, store, day WHERE store_id = s_id AND day_id = d_id GROUP BY s_city;
SELECT avg(price) FILTER (WHERE s_state = 'S1'), max(price) FILTER (WHERE s_state = 'S2') FROM sales, store WHERE store_id = s_id;
-- left join
SELECT s_state, sum(price) FROM sales LEFT JOIN store ON store_id = s_id GROUP BY s_state;
SELECT p_kind, count(*) FROM sales LEFT JOIN promo ON promo_id = p_id GROUP BY p_kind;
SELECT p_kind, sum(price) FROM sales LEFT JOIN promo ON promo_id = p_id AND p_kind < 'K3' GROUP BY p_kind;
SELECT d_year, p_kind, sum(price) FROM sales JOIN day ON day_id = d_id LEFT JOIN promo ON promo_id = p_id WHERE d_year = 2022 GROUP BY d_year, p_kind;
SELECT count(*) FROM sales LEFT JOIN promo ON promo_id = p_id WHERE p_id IS NULL;
SELECT coalesce(p_kind, 'none'), avg(price) FROM sales LEFT JOIN promo ON promo_id = p_id GROUP BY 1;
SELECT i_category, c_region, sum(price) FROM sales LEFT JOIN item ON item_id = i_id LEFT JOIN customer ON customer_id = c_id GROUP BY i_category, c_region;
SELECT d_year, sum(amount) FROM sales LEFT JOIN returns ON r_sale = sale_id, day WHERE day_id = d_id AND d_month = 7 AND d_year = 2021 GROUP BY d_year;
SELECT s_city, count(r_sale) FROM sales LEFT JOIN returns ON r_sale = sale_id JOIN store ON store_id = s_id JOIN day ON day_id = d_id WHERE d_date = DATE '2021-03-05' GROUP BY s_city;
-- subquery
SELECT sum(price) FROM sales, day WHERE day_id = d_id AND d_year = (SELECT max(d_year) FROM day);
SELECT s_state, sum(price) FROM sales, day, store WHERE day_id = d_id AND store_id = s_id AND d_week = (SELECT DISTINCT d_week FROM day WHERE d_date = DATE '2022-05-09') GROUP BY s_state;
SELECT count(*) FROM sales WHERE quantity > (SELECT avg(s_size) FROM store);
SELECT i_category, sum(price) FROM sales, item WHERE item_id = i_id AND i_price > (SELECT avg(i_price) FROM item) GROUP BY i_category;
SELECT sum(price) FROM sales, day WHERE day_id = d_id AND d_date BETWEEN (SELECT min(d_date) FROM day WHERE d_year = 2021) AND DATE '2021-02-01';
SELECT d_year, sum(price) FROM (SELECT * FROM sales, day WHERE day_id = d_id) AS joined GROUP BY d_year;
WITH joined AS (SELECT d_month, price FROM sales JOIN day ON day_id = d_id WHERE d_year = 2021) SELECT d_month, sum(price) FROM joined GROUP BY d_month;
-- keys
SELECT c_id, c_name, c_street, c_city, c_region, sum(price) FROM sales, customer WHERE customer_id = c_id GROUP BY c_id, c_name, c_street, c_city, c_region ORDER BY 6 DESC, 1 LIMIT 20;
SELECT c_name, c_street, sum(price) FROM sales, customer WHERE customer_id = c_id GROUP BY c_name, c_street ORDER BY 3 DESC, 1 LIMIT 20;
SELECT i_id, i_name, sum(quantity) FROM sales, item WHERE item_id = i_id GROUP BY i_id, i_name ORDER BY 3 DESC, 1 LIMIT 20;
SELECT item_id, count(*) FROM sales GROUP BY item_id ORDER BY 2 DESC, 1 LIMIT 20;
SELECT customer_id, sum(price) FROM sales GROUP BY customer_id ORDER BY 2 DESC, 1 LIMIT 20;
SELECT i_brand, i_name, d_year, sum(price) FROM sales, item, day WHERE item_id = i_id AND day_id = d_id GROUP BY i_brand, i_name, d_year ORDER BY 4 DESC, 1, 2 LIMIT 20;
SELECT i_name, s_city, sum(price) FROM sales, item, store WHERE item_id = i_id AND store_id = s_id AND i_category = 'C3' GROUP BY i_name, s_city ORDER BY 3 DESC, 1, 2 LIMIT 20;
-- membership
SELECT sum(price) FROM sales WHERE store_id IN (SELECT s_id FROM store WHERE s_state = 'S1');
SELECT sum(price) FROM sales WHERE store_id NOT IN (SELECT s_id FROM store WHERE s_state = 'S1');
SELECT count(*) FROM sales WHERE EXISTS (SELECT 1 FROM item WHERE i_id = item_id AND i_category = 'C2');
SELECT count(*) FROM sales WHERE NOT EXISTS (SELECT 1 FROM item WHERE i_id = item_id AND i_category = 'C2');
SELECT d_year, sum(price) FROM sales, day WHERE day_id = d_id AND item_id IN (SELECT i_id FROM item WHERE i_brand = 'B7') GROUP BY d_year;
SELECT sum(price) FROM sales WHERE promo_id NOT IN (SELECT p_id FROM promo WHERE p_kind = 'K1');
SELECT sum(price) FROM sales WHERE store_id IN (SELECT s_id FROM store WHERE s_state = 'S1') OR quantity = 7;
SELECT i_category, sum(price) FROM sales, item WHERE item_id = i_id AND i_brand IN (SELECT i_brand FROM item WHERE i_price > 99) GROUP BY i_category;
-- union
SELECT d_year, sum(p) FROM (SELECT day_id AS k, price AS p FROM sales UNION ALL SELECT r_day, -amount FROM returns) AS u, day WHERE k = d_id GROUP BY d_year;
SELECT s_state, sum(p), count(*) FROM (SELECT s_state, price AS p FROM sales, store WHERE store_id = s_id UNION ALL SELECT s_state, -amount FROM returns, store WHERE r_store = s_id) AS u GROUP BY s_state;
SELECT sum(p) FROM (SELECT price AS p, day_id AS k FROM sales UNION ALL SELECT amount, r_day FROM returns) AS u, day WHERE k = d_id AND d_year = 2022;
SELECT s_state, d_year, sum(price) FROM sales, store, day WHERE store_id = s_id AND day_id = d_id GROUP BY ROLLUP (s_state, d_year);
SELECT s_state, i_category, sum(price) FROM sales, store, item WHERE store_id = s_id AND item_id = i_id GROUP BY CUBE (s_state, i_category);
-- statistics
SELECT s_state, stddev(price) FROM sales, store WHERE store_id = s_id GROUP BY s_state;
SELECT d_year, var_pop(quantity) FROM sales, day WHERE day_id = d_id GROUP BY d_year;
SELECT s_state, median(quantity) FROM sales, store WHERE store_id = s_id GROUP BY s_state;
SELECT d_year, count(DISTINCT customer_id) FROM sales, day WHERE day_id = d_id GROUP BY d_year;
SELECT s_state, count(DISTINCT item_id) FROM sales, store WHERE store_id = s_id GROUP BY s_state;
SELECT i_category, count(DISTINCT c_region) FROM sales, item, customer WHERE item_id = i_id AND customer_id = c_id GROUP BY i_category;
SELECT s_state, arg_max(item_id, sale_id) FROM sales, store WHERE store_id = s_id GROUP BY s_state;
SELECT d_year, count(DISTINCT store_id), count(DISTINCT promo_id) FROM sales, day WHERE day_id = d_id GROUP BY d_year;
-- moments
SELECT date_trunc('month', sold_at), sum(price) FROM sales GROUP BY 1;
SELECT extract(hour FROM sold_at), count(*) FROM sales GROUP BY 1;
SELECT date_trunc('quarter', d_date), sum(price) FROM sales, day WHERE day_id = d_id GROUP BY 1;
SELECT extract(year FROM d_date), s_state, sum(price) FROM sales, day, store WHERE day_id = d_id AND store_id = s_id GROUP BY 1, 2;
-- rows
SELECT sale_id, price FROM sales ORDER BY price DESC, sale_id LIMIT 10;
SELECT sale_id, price FROM sales, store WHERE store_id = s_id AND s_state = 'S3' ORDER BY price DESC, sale_id LIMIT 10;
SELECT s_state, total, rank() OVER (ORDER BY total DESC) FROM (SELECT s_state, sum(price) AS total FROM sales, store WHERE store_id = s_id GROUP BY s_state) AS t;
SELECT avg(total) FROM (SELECT customer_id, sum(price) AS total FROM sales GROUP BY customer_id) AS t;
SELECT d_year, count(*) FROM (SELECT customer_id, min(d_year) AS d_year FROM sales, day WHERE day_id = d_id GROUP BY customer_id) AS t GROUP BY d_year;

-- HAVING: the star form, then the flat form.
SELECT p_brand1, COUNT(*) AS lines, SUM(lo_revenue) AS revenue
FROM lineorder, supplier, part
WHERE lo_suppkey = s_suppkey
  AND lo_partkey = p_partkey
  AND s_region = 'ASIA'
GROUP BY p_brand1
HAVING AVG(lo_revenue) > 3700000
ORDER BY p_brand1;

SELECT p_brand1, COUNT(*) AS lines, SUM(lo_revenue) AS revenue
FROM lineorder_flat
WHERE s_region = 'ASIA'
GROUP BY p_brand1
HAVING AVG(lo_revenue) > 3700000
ORDER BY p_brand1;

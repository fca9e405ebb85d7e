-- Days that are no month: the star form, then the flat form.
SELECT p_category, SUM(lo_revenue) AS revenue
FROM lineorder, part
WHERE lo_partkey = p_partkey
  AND lo_orderdate BETWEEN 19940215 AND 19940415
GROUP BY p_category
ORDER BY p_category;

SELECT p_category, SUM(lo_revenue) AS revenue
FROM lineorder_flat
WHERE lo_orderdate BETWEEN 19940215 AND 19940415
GROUP BY p_category
ORDER BY p_category;

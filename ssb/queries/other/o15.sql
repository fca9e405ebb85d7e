-- The ten best cities: the star form, then the flat form.
SELECT c_city, SUM(lo_revenue) AS revenue
FROM lineorder, date, customer, supplier
WHERE lo_orderdate = d_datekey
  AND lo_custkey = c_custkey
  AND lo_suppkey = s_suppkey
  AND s_region = 'MIDDLE EAST'
  AND d_year BETWEEN 1994 AND 1996
GROUP BY c_city
ORDER BY revenue DESC, c_city
LIMIT 10;

SELECT c_city, SUM(lo_revenue) AS revenue
FROM lineorder_flat
WHERE s_region = 'MIDDLE EAST'
  AND d_year BETWEEN 1994 AND 1996
GROUP BY c_city
ORDER BY revenue DESC, c_city
LIMIT 10;

-- A disjunction over two dimensions: the star form, then the flat form.
SELECT c_region, s_region, SUM(lo_revenue) AS revenue
FROM lineorder, date, customer, supplier
WHERE lo_orderdate = d_datekey
  AND lo_custkey = c_custkey
  AND lo_suppkey = s_suppkey
  AND (c_region = 'ASIA' OR s_region = 'ASIA')
  AND d_year = 1995
GROUP BY c_region, s_region
ORDER BY c_region, s_region;

SELECT c_region, s_region, SUM(lo_revenue) AS revenue
FROM lineorder_flat
WHERE (c_region = 'ASIA' OR s_region = 'ASIA')
  AND d_year = 1995
GROUP BY c_region, s_region
ORDER BY c_region, s_region;

-- One group key that no BVH has: the star form, then the flat form.
SELECT d_year, c_mktsegment, SUM(lo_revenue) AS revenue
FROM lineorder, date, customer
WHERE lo_orderdate = d_datekey
  AND lo_custkey = c_custkey
  AND c_region = 'EUROPE'
GROUP BY d_year, c_mktsegment
ORDER BY d_year, c_mktsegment;

SELECT d_year, c_mktsegment, SUM(lo_revenue) AS revenue
FROM lineorder_flat
WHERE c_region = 'EUROPE'
GROUP BY d_year, c_mktsegment
ORDER BY d_year, c_mktsegment;

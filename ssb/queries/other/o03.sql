-- No predicate, two groups that BVHs encode: the star form, then the flat form.
SELECT d_year, c_region, SUM(lo_revenue - lo_supplycost) AS profit
FROM lineorder, date, customer
WHERE lo_orderdate = d_datekey
  AND lo_custkey = c_custkey
GROUP BY d_year, c_region
ORDER BY d_year, c_region;

SELECT d_year, c_region, SUM(lo_revenue - lo_supplycost) AS profit
FROM lineorder_flat
GROUP BY d_year, c_region
ORDER BY d_year, c_region;

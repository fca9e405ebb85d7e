-- Two columns compared: the star form, then the flat form.
SELECT c_region, COUNT(*) AS lines, SUM(lo_revenue) AS revenue
FROM lineorder, date, customer, supplier
WHERE lo_orderdate = d_datekey
  AND lo_custkey = c_custkey
  AND lo_suppkey = s_suppkey
  AND c_region = s_region
  AND c_nation <> s_nation
  AND d_year = 1992
GROUP BY c_region
ORDER BY c_region;

SELECT c_region, COUNT(*) AS lines, SUM(lo_revenue) AS revenue
FROM lineorder_flat
WHERE c_region = s_region
  AND c_nation <> s_nation
  AND d_year = 1992
GROUP BY c_region
ORDER BY c_region;

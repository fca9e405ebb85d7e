-- COUNT DISTINCT of a key: the star form, then the flat form.
SELECT c_region, COUNT(DISTINCT lo_custkey) AS customers
FROM lineorder, date, customer, supplier
WHERE lo_orderdate = d_datekey
  AND lo_custkey = c_custkey
  AND lo_suppkey = s_suppkey
  AND s_region = 'AFRICA'
  AND d_year = 1997
GROUP BY c_region
ORDER BY c_region;

SELECT c_region, COUNT(DISTINCT lo_custkey) AS customers
FROM lineorder_flat
WHERE s_region = 'AFRICA'
  AND d_year = 1997
GROUP BY c_region
ORDER BY c_region;

-- A predicate that the BVH does not encode: the star form, then the flat form.
SELECT d_year, p_brand1, SUM(lo_revenue) AS revenue
FROM lineorder, date, supplier, part
WHERE lo_orderdate = d_datekey
  AND lo_suppkey = s_suppkey
  AND lo_partkey = p_partkey
  AND p_category = 'MFGR#12'
  AND s_region = 'AMERICA'
  AND lo_quantity < 10
GROUP BY d_year, p_brand1
ORDER BY d_year, p_brand1;

SELECT d_year, p_brand1, SUM(lo_revenue) AS revenue
FROM lineorder_flat
WHERE p_category = 'MFGR#12'
  AND s_region = 'AMERICA'
  AND lo_quantity < 10
GROUP BY d_year, p_brand1
ORDER BY d_year, p_brand1;

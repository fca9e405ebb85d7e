-- MIN and MAX: the star form, then the flat form.
SELECT p_brand1, MIN(lo_revenue) AS least, MAX(lo_revenue) AS most
FROM lineorder, supplier, part
WHERE lo_suppkey = s_suppkey
  AND lo_partkey = p_partkey
  AND p_category = 'MFGR#33'
  AND s_region = 'EUROPE'
GROUP BY p_brand1
ORDER BY p_brand1;

SELECT p_brand1, MIN(lo_revenue) AS least, MAX(lo_revenue) AS most
FROM lineorder_flat
WHERE p_category = 'MFGR#33'
  AND s_region = 'EUROPE'
GROUP BY p_brand1
ORDER BY p_brand1;

-- COUNT DISTINCT of an attribute that a BVH encodes: the star form, then the flat form.
SELECT s_nation, COUNT(DISTINCT p_brand1) AS brands
FROM lineorder, customer, supplier, part
WHERE lo_custkey = c_custkey
  AND lo_suppkey = s_suppkey
  AND lo_partkey = p_partkey
  AND p_mfgr = 'MFGR#2'
  AND c_nation = 'INDIA'
GROUP BY s_nation
ORDER BY s_nation;

SELECT s_nation, COUNT(DISTINCT p_brand1) AS brands
FROM lineorder_flat
WHERE p_mfgr = 'MFGR#2'
  AND c_nation = 'INDIA'
GROUP BY s_nation
ORDER BY s_nation;

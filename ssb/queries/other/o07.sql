-- A list on an attribute and one on a measure's table: the star form, then the flat form.
SELECT p_mfgr, SUM(lo_supplycost) AS cost
FROM lineorder, date, part
WHERE lo_orderdate = d_datekey
  AND lo_partkey = p_partkey
  AND lo_shipmode IN ('AIR', 'REG AIR')
  AND d_year IN (1993, 1995, 1997)
GROUP BY p_mfgr
ORDER BY p_mfgr;

SELECT p_mfgr, SUM(lo_supplycost) AS cost
FROM lineorder_flat
WHERE lo_shipmode IN ('AIR', 'REG AIR')
  AND d_year IN (1993, 1995, 1997)
GROUP BY p_mfgr
ORDER BY p_mfgr;

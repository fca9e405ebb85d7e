-- Many aggregates: the star form, then the flat form.
SELECT d_year, p_mfgr, COUNT(*) AS lines, SUM(lo_revenue) AS revenue,
  SUM(lo_supplycost) AS cost, AVG(lo_discount) AS discount, MAX(lo_tax) AS tax
FROM lineorder, date, customer, supplier, part
WHERE lo_orderdate = d_datekey
  AND lo_custkey = c_custkey
  AND lo_suppkey = s_suppkey
  AND lo_partkey = p_partkey
  AND c_region = 'AMERICA'
  AND s_region = 'AFRICA'
GROUP BY d_year, p_mfgr
ORDER BY d_year, p_mfgr;

SELECT d_year, p_mfgr, COUNT(*) AS lines, SUM(lo_revenue) AS revenue,
  SUM(lo_supplycost) AS cost, AVG(lo_discount) AS discount, MAX(lo_tax) AS tax
FROM lineorder_flat
WHERE c_region = 'AMERICA'
  AND s_region = 'AFRICA'
GROUP BY d_year, p_mfgr
ORDER BY d_year, p_mfgr;

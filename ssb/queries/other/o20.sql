-- A conditional sum: the star form, then the flat form.
SELECT d_year, SUM(CASE WHEN lo_tax > 4 THEN lo_revenue ELSE 0 END) AS revenue
FROM lineorder, date, supplier
WHERE lo_orderdate = d_datekey
  AND lo_suppkey = s_suppkey
  AND s_nation = 'CHINA'
  AND lo_orderpriority = '1-URGENT'
GROUP BY d_year
ORDER BY d_year;

SELECT d_year, SUM(CASE WHEN lo_tax > 4 THEN lo_revenue ELSE 0 END) AS revenue
FROM lineorder_flat
WHERE s_nation = 'CHINA'
  AND lo_orderpriority = '1-URGENT'
GROUP BY d_year
ORDER BY d_year;

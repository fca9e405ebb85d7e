-- IN lists: the star form, then the flat form.
SELECT d_year, SUM(lo_revenue) AS revenue
FROM lineorder, date, customer, supplier
WHERE lo_orderdate = d_datekey
  AND lo_custkey = c_custkey
  AND lo_suppkey = s_suppkey
  AND c_nation IN ('FRANCE', 'JAPAN', 'CANADA', 'KENYA')
  AND s_nation IN ('GERMANY', 'CHINA', 'BRAZIL')
GROUP BY d_year
ORDER BY d_year;

SELECT d_year, SUM(lo_revenue) AS revenue
FROM lineorder_flat
WHERE c_nation IN ('FRANCE', 'JAPAN', 'CANADA', 'KENYA')
  AND s_nation IN ('GERMANY', 'CHINA', 'BRAZIL')
GROUP BY d_year
ORDER BY d_year;

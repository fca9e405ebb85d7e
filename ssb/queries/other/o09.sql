-- A disjunction over two columns of the line: the star form, then the flat form.
SELECT d_yearmonthnum, SUM(lo_extendedprice * lo_discount) AS revenue
FROM lineorder, date
WHERE lo_orderdate = d_datekey
  AND (lo_discount >= 9 OR lo_quantity <= 5)
  AND d_year = 1996
GROUP BY d_yearmonthnum
ORDER BY d_yearmonthnum;

SELECT d_yearmonthnum, SUM(lo_extendedprice * lo_discount) AS revenue
FROM lineorder_flat
WHERE (lo_discount >= 9 OR lo_quantity <= 5)
  AND d_year = 1996
GROUP BY d_yearmonthnum
ORDER BY d_yearmonthnum;

-- AVG: the star form, then the flat form.
SELECT d_yearmonthnum, AVG(lo_quantity) AS quantity, AVG(lo_extendedprice) AS price
FROM lineorder, date
WHERE lo_orderdate = d_datekey
  AND d_year = 1994
  AND lo_discount BETWEEN 2 AND 4
GROUP BY d_yearmonthnum
ORDER BY d_yearmonthnum;

SELECT d_yearmonthnum, AVG(lo_quantity) AS quantity, AVG(lo_extendedprice) AS price
FROM lineorder_flat
WHERE d_year = 1994
  AND lo_discount BETWEEN 2 AND 4
GROUP BY d_yearmonthnum
ORDER BY d_yearmonthnum;

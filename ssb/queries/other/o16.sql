-- The twenty best customers: the star form, then the flat form.
SELECT lo_custkey, SUM(lo_revenue) AS revenue
FROM lineorder, customer
WHERE lo_custkey = c_custkey
  AND c_nation = 'FRANCE'
GROUP BY lo_custkey
ORDER BY revenue DESC, lo_custkey
LIMIT 20;

SELECT lo_custkey, SUM(lo_revenue) AS revenue
FROM lineorder_flat
WHERE c_nation = 'FRANCE'
GROUP BY lo_custkey
ORDER BY revenue DESC, lo_custkey
LIMIT 20;

-- No predicate, an attribute of no BVH: the star form, then the flat form.
SELECT lo_shipmode, COUNT(*) AS lines, SUM(lo_revenue) AS revenue
FROM lineorder
GROUP BY lo_shipmode
ORDER BY lo_shipmode;

SELECT lo_shipmode, COUNT(*) AS lines, SUM(lo_revenue) AS revenue
FROM lineorder_flat
GROUP BY lo_shipmode
ORDER BY lo_shipmode;

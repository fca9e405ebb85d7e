-- No predicate, no group: the star form, then the flat form.
SELECT COUNT(*) AS lines, SUM(lo_revenue) AS revenue, MIN(lo_revenue) AS least, MAX(lo_revenue) AS most
FROM lineorder;

SELECT COUNT(*) AS lines, SUM(lo_revenue) AS revenue, MIN(lo_revenue) AS least, MAX(lo_revenue) AS most
FROM lineorder_flat;

CREATE TABLE t (d DATE, n INTEGER);

-- DATE - INTERVAL is a TIMESTAMP, but the column is compared as the DATE it is.
SELECT n FROM t WHERE d <= DATE '1998-12-01' - INTERVAL '90' DAY;
-- before:
--   Project n
--     Filter (CAST(d AS TIMESTAMP) <= '1998-09-02 00:00:00')
--       Scan t (d, n)
-- after:
--   Project n
--     Filter (d <= '1998-09-02')
--       Scan t (d, n)

-- A time of day moves the border to the day before or after.
SELECT n FROM t WHERE d < TIMESTAMP '1998-12-01 12:00:00';
-- before:
--   Project n
--     Filter (CAST(d AS TIMESTAMP) < '1998-12-01 12:00:00')
--       Scan t (d, n)
-- after:
--   Project n
--     Filter (d <= '1998-12-01')
--       Scan t (d, n)

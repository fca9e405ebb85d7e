CREATE TABLE t (m TIMESTAMP, d DATE, n INTEGER);
SET timezone = 'Europe/Oslo';

-- The column is compared with what clocks show.
SELECT n FROM t WHERE m <= TIMESTAMPTZ '2026-05-17 08:00:00Z';
-- before:
--   Project n
--     Filter (cast_in_zone(m, 'Europe/Oslo') <= '2026-05-17 08:00:00+00:00')
--       Scan t (m, d, n)
-- after:
--   Project n
--     Filter (m <= '2026-05-17 10:00:00')
--       Scan t (m, d, n)

-- What databases answer from 0.1.0a5 on.
SELECT id, v FROM extra.note WHERE id < 8 OR id > 37 ORDER BY id;
-- 0 | (0.0, 0.0)
-- 1 | (1.0, 1.0)
-- 2 | (2.0, 2.0)
-- 4 | (4.0, 1.0)
-- 5 | (5.0, 2.0)
-- 6 | (6.0, 0.0)
-- 7 | (0.5, 100.0)
-- 38 | (38.0, 2.0)
-- 39 | (39.0, 0.0)
SELECT id, v FROM vector_search(extra.note, v, [20.2, 1], k => 3, exact => true) ORDER BY rank;
-- 20 | (20.0, 2.0)
-- 19 | (19.0, 1.0)
-- 21 | (21.0, 0.0)
SELECT id FROM vector_search(extra.note, v, [0, 100], k => 1);
-- 7
SELECT id, w FROM vector_search(extra.note, w, [20, 1], k => 3, nprobe => 2) ORDER BY rank;
-- 20 | (20, 1)
-- 19 | (19, 1)
-- 21 | (21, 1)
SELECT id FROM text_search(extra.note, words, 'word3 word4', k => 3) ORDER BY rank;
-- 18
-- 24
-- 38
SELECT name, table_name, lists, vectors, rows_beside FROM vector_indexes() ORDER BY name;
-- 'extra.by_bytes' | 'extra.note' | 2 | 40 | 1
-- 'extra.by_graph' | 'extra.note' | 2 | 40 | 1
-- 'near' | 'item' | 3 | 60 | 1
SELECT twice(21);
-- 42
SELECT count(*), sum(v[1]) FROM extra.note;
-- 36 | 701.5

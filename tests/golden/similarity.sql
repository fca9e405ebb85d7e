-- How alike texts are, parts of paths, parts of lists, all matches of a pattern.

SELECT damerau_levenshtein('order', 'odrer'), damerau_levenshtein('', 'abc'), damerau_levenshtein('a cat', 'an abct'), damerau_levenshtein(NULL, 'a');
-- 1 | 3 | 3 | NULL

SELECT hamming('duck', 'luck'), mismatches('', ''), jaccard('duck', 'luck');
-- 1 | 0 | 0.6

SELECT hamming('a', 'ab');
-- error: DataError: hamming() needs texts of one length, not of 1 and 2

SELECT jaccard('', 'ab');
-- error: DataError: jaccard() needs texts that are not empty

SELECT jaro_similarity('duck', 'dukc'), jaro_similarity('', ''), jaro_winkler_similarity('CRATE', 'TRACE'), jaro_winkler_similarity('duck', 'duckling');
-- 0.9166666666666666 | 0.0 | 0.7333333333333334 | 0.9

SELECT parse_filename(p), parse_dirname(p), parse_dirpath(p) FROM (VALUES ('data/shop/a.csv'), ('a'), ('/a/b'), ('a\b'), ('')) AS t (p);
-- '' | '' | ''
-- 'a' | '' | ''
-- 'a.csv' | 'data' | 'data/shop'
-- 'b' | '/' | '/a'
-- 'b' | 'a' | 'a'

SELECT list_unique(a), list_count(a), list_first(a), list_last(a), list_where(a, [true, NULL, true]) FROM (VALUES ([1, 2, 1, NULL]), ([]), (NULL)) AS t (a);
-- 0 | 0 | NULL | NULL | []
-- 2 | 3 | 1 | NULL | [1, 1]
-- NULL | NULL | NULL | NULL | NULL

SELECT list_where([1, 2, 3], [true]), list_where([1], NULL::BOOLEAN[]), list_where([[1], [2]], [false, true]);
-- [1] | NULL | [[2]]

SELECT list_where([1], [1]);
-- error: ProgrammingError: list_where() needs a list of BOOLEAN, not a list (INTEGER[]) (line 1, column 8)

SELECT array_value(1, 2), list_aggr([1, 2], 'sum'), array_aggr([1, 2], 'max');
-- (1, 2) | 3 | 2

SELECT regexp_extract_all(a, '[a-z]'), regexp_extract_all(a, '([a-z])(\d)', 2), regexp_extract_all(a, 'x*') FROM (VALUES ('a1 b2'), (''), (NULL), ('zz')) AS t (a);
-- NULL | NULL | NULL
-- ['a', 'b'] | ['1', '2'] | ['', '', '', '', '', '']
-- ['z', 'z'] | [] | ['', '', '']
-- [] | [] | ['']

SELECT regexp_extract_all('AB', 'b', 0, 'i'), regexp_extract_all('a', NULL), regexp_extract_all('', '');
-- ['B'] | NULL | ['']

SELECT regexp_extract_all('a', '(a)', 2);
-- error: DataError: the regular expression '(a)' has no group 2

SELECT regexp_extract_all('a', '(a');
-- error: DataError: '(a' is not a valid regular expression: missing )

SELECT regexp_extract_all('a', 'a', 10);
-- error: DataError: regexp_extract_all() knows the groups 0 to 9, not 10

-- other separators of paths, names without what is behind their last point, and all parts
SELECT parse_filename('logs/may.tar.gz', true), parse_filename('.profile', true), parse_filename('a/b', true);
-- 'may.tar' | '' | 'b'
SELECT parse_filename('c:\x\y.txt'), parse_filename('c:\x\y.txt', 'forward_slash'), parse_filename('c:\x\y.txt', true, 'backslash');
-- 'y.txt' | 'c:\x\y.txt' | 'y'
SELECT parse_path('/srv//logs/may.log'), parse_path('x\y/z'), parse_path('x\y/z', 'system'), parse_path(''), parse_path(NULL);
-- ['/', 'srv', 'logs', 'may.log'] | ['x', 'y', 'z'] | ['x\\y', 'z'] | [] | NULL
SELECT parse_dirname('srv\logs/may.log', 'forward_slash'), parse_dirpath('/srv/logs/may.log', 'system');
-- 'srv\logs' | '/srv/logs'

-- The groups of each match by their names; one that takes no part is ''.
SELECT regexp_extract_all('Peter:33 Paul:14', '(\w+):(\d+)', ['name', 'num']) AS res;
-- [{'name': 'Peter', 'num': '33'}, {'name': 'Paul', 'num': '14'}]
SELECT s, regexp_extract_all(s, '([A-Z])(\d)?', ['c', 'd'], 'i') AS res FROM (VALUES ('x1 y2'), ('a'), ('?'), (NULL)) AS t(s);
-- '?' | []
-- 'a' | [{'c': 'a', 'd': ''}]
-- 'x1 y2' | [{'c': 'x', 'd': '1'}, {'c': 'y', 'd': '2'}]
-- NULL | NULL
SELECT unnest(regexp_extract_all('k=1;l=2', '(\w)=(\d)', ['k', 'v']), recursive := true);
-- 'k' | '1'
-- 'l' | '2'
SELECT regexp_extract_all('a1 b2', '(\w)(\d)', 2);
-- ['1', '2']
SELECT regexp_extract_all('abc', '(a)(b)', ['x', 'y', 'z']);
-- error: DataError: the regular expression '(a)(b)' has no group 3
SELECT regexp_extract_all('abc', '(a)(b)', ['x', 'X']);
-- error: ProgrammingError: regexp_extract_all() needs a group, or different names for the first ones (line 1, column 8)
SELECT regexp_extract_all('abc', '(a)(b)', []);
-- error: ProgrammingError: regexp_extract_all() needs a group, or different names for the first ones (line 1, column 8)

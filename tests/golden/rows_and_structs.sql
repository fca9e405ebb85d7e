-- A row has its values by their places: beside a struct it takes the names of that.
SELECT CASE WHEN true THEN row(1, 2) ELSE {'a': 3, 'b': 4} END AS x, [{'a': 1}, row(2)] AS y, coalesce(NULL::STRUCT(a INTEGER), row(5)) AS z;
-- {'a': 1, 'b': 2} | [{'a': 1}, {'a': 2}] | {'a': 5}

SELECT row(1, 'x') UNION ALL SELECT {'a': 2, 'b': 'y'};
-- {'a': 1, 'b': 'x'}
-- {'a': 2, 'b': 'y'}

-- Of another width it has none of its fields.
SELECT [{'a': 1}, row(2, 3)] AS x;
-- [{'a': 1, 'f1': None, 'f2': None}, {'a': None, 'f1': 2, 'f2': 3}]

SELECT s, s = (2, 'y') AS a, (2, 'y') = s AS b, s > (1, 'z') AS c, s <> (2, 'y') AS d,
    s IN ((2, 'y'), (3, 'z')) AS e, s IS DISTINCT FROM (2, 'y') AS f
  FROM (VALUES ({'a': 2, 'b': 'y'}), ({'a': 1, 'b': 'y'}), (NULL)) AS t (s);
-- NULL | NULL | NULL | NULL | NULL | NULL | true
-- {'a': 1, 'b': 'y'} | false | false | false | true | false | true
-- {'a': 2, 'b': 'y'} | true | true | true | false | true | false

SELECT (1, 2) IN (SELECT row(1, 2)) AS a, (1, 3) = ANY (SELECT row(1, 2)) AS b;
-- true | false

SELECT {'a': 1} = (1, 2);
-- error: ProgrammingError: a row of 1 values cannot be compared with one of 2 (line 1, column 14)

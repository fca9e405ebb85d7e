-- BIT: zeros and ones, of any length.
select '0101'::bit, '0101'::bit::varchar, typeof('0101'::bit), '0x5F'::bit, bit '01', '01'::bitstring;
-- '0101' | '0101' | 'BIT' | '01011111' | '01' | '01'
select '012'::bit;
-- error: DataError: '012' is not a valid BIT (line 1, column 8)
select ''::bit;
-- error: DataError: '' is not a valid BIT (line 1, column 8)
select '0'::bit < '00'::bit, '1'::bit < '01'::bit, '10'::bit < '1'::bit, '0101'::bit = '101'::bit, '1'::bit > '01'::bit, '00000001'::bit < '1'::bit, '111111111'::bit > '1'::bit;
-- true | false | false | false | true | true | true
select '0101'::bit & '0011'::bit, '0101'::bit | '0011'::bit, ~'0101'::bit, xor('0101'::bit,'0011'::bit), '0101'::bit << 1, '0101'::bit >> 1, '0101'::bit << 10, '0101'::bit # '0011';
-- '0001' | '0111' | '1010' | '0110' | '1010' | '0010' | '0000' | '0110'
select '01'::bit & '0'::bit;
-- error: DataError: & needs bits of one length, not of 2 and 1
select '01'::bit & 5;
-- error: ProgrammingError: cannot combine 01 (BIT) with 5 (INTEGER) (line 1, column 8)
select '0101'::bit || '11'::bit, bit_count('0101'::bit), get_bit('0101'::bit, 1), set_bit('0101'::bit, 0, 1), bit_length('0101'::bit), octet_length('010100000'::bit), bitstring('11', 5), length('0101'::bit), bit_position('1'::bit, '0101'::bit);
-- '010111' | 2 | 1 | '1101' | 4 | 2 | '00011' | 4 | 2
select get_bit('0101'::bit, 4);
-- error: DataError: there is no bit 4 of 4: the first one is bit 0
select set_bit('0101'::bit, 0, 2);
-- error: DataError: a bit is 0 or 1, not 2
select bitstring('0101', 2);
-- error: DataError: bitstring() of 4 bits has at least as many, not 2
select bit_length('abc'), octet_length('abc'::blob), bit_count(5);
-- 24 | 3 | 2
select 5::bit, 5::tinyint::bit, (-1)::int::bit, 'a'::blob::bit, 5::bigint::bit;
-- '00000000000000000000000000000101' | '00000101' | '11111111111111111111111111111111' | '01100001' | '0000000000000000000000000000000000000000000000000000000000000101'
select '0101'::bit::int, '0101'::bit::bigint, '0101'::bit::blob, '00000101'::bit::tinyint, '11111111'::bit::tinyint;
-- 5 | 5 | b'\x05' | 5 | -1
select '11111111111111111111111111111111111'::bit::int;
-- error: DataError: 11111111111111111111111111111111111 is out of range for INTEGER
create table t (k int, x bit);
insert into t values (1,'0101'),(2,'0011'),(3,null),(4,'0101'),(5,'1');
select k, x from t order by x desc nulls last, k;
-- 5 | '1'
-- 1 | '0101'
-- 4 | '0101'
-- 2 | '0011'
-- 3 | NULL
select x, count(*) from t group by x order by x;
-- '0011' | 1
-- '0101' | 2
-- '1' | 1
-- NULL | 1
select min(x), max(x), count(distinct x), list(x order by k), mode(x), arg_max(k, x) from t;
-- '0011' | '1' | 3 | ['0101', '0011', None, '0101', '1'] | '0101' | 5
select bit_and(x), bit_or(x), bit_xor(x) from t where k < 5;
-- '0001' | '0111' | '0011'
select bit_and(x) from t;
-- error: DataError: bit_and() needs bits of one length, not of 4 and 1
select k % 2, bit_or(x) from t where k < 5 group by 1 order by 1;
-- 0 | '0111'
-- 1 | '0101'
select a.k,b.k from t a join t b on a.x=b.x order by all;
-- 1 | 1
-- 1 | 4
-- 2 | 2
-- 4 | 1
-- 4 | 4
-- 5 | 5
select x from t where x > '0101' or x = '0011';
-- '0011'
-- '1'
select x from t union select x from t order by 1;
-- '0011'
-- '0101'
-- '1'
-- NULL
select k, rank() over (order by x), lag(x) over (order by k), bit_or(x) over (partition by length(x) order by k) from t order by k;
-- 1 | 2 | NULL | '0101'
-- 2 | 1 | '0101' | '0111'
-- 3 | 5 | '0011' | NULL
-- 4 | 2 | NULL | '0111'
-- 5 | 4 | '0101' | '1'
select x = '0101', coalesce(x, '0'), case when k = 1 then x end, greatest(x, '1'), x in ('1', '0011') from t order by k;
-- true | '0101' | '0101' | '1' | false
-- false | '0011' | NULL | '1' | true
-- NULL | '0' | NULL | '1' | NULL
-- true | '0101' | NULL | '1' | false
-- false | '1' | NULL | '1' | true
select [x], {'a': x}, to_json(x), x || 'z', map {x: k} from t where k = 1;
-- ['0101'] | {'a': '0101'} | '"0101"' | '0101z' | {'0101': 1}
describe t;
-- 'k' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'x' | 'BIT' | 'YES' | NULL | NULL | NULL
explain select k from t where x = '0101';
-- 'path: general (the query has no aggregate)'
-- 'ComputeColumns: k'
-- '  FilterRows: (x = ''0101'')'
-- '    ScanTable: t (k, x)'
update t set x = x << 1 where k = 1;
insert into t values (9, 'abc');
-- error: DataError: column 'x': 'abc' is not a valid BIT
create table p (x bit primary key);
insert into p values ('0101'),('101');
insert into p values ('0101');
-- error: IntegrityError: table 'p', row 1: the primary key (x) = ('0101') is in the table already
select * from p where x = '0101';
-- '0101'
select try_cast('x' as bit), hash('01'::bit) is not null, null::bit & '1'::bit;
-- NULL | true | NULL
select x from t order by [x], {'a':x};
-- '0011'
-- '0101'
-- '1'
-- '1010'
-- NULL
select bit_and(x), bit_or(x), bit_xor(x) from (values ('0101'::bit),('0011'),(null)) t(x);
-- '0001' | '0111' | '0110'
select '01'::bitstring, '0x5F'::bit, bit '01';
-- '01' | '01011111' | '01'
select bit_and(x) from (values ('0101'::bit),('001'),(null)) t(x);
-- error: DataError: bit_and() needs bits of one length, not of 4 and 3
select k % 2, bit_or(x) from (values (1,'0101'::bit),(2,'0011'),(3,'1000'),(4,null)) t(k,x) group by 1 order by 1;
-- 0 | '0011'
-- 1 | '1101'
select k, bit_or(x) over (order by k), bit_and(x) over () from (values (1,'0101'::bit),(2,'0011'),(3,'1000'),(4,null)) t(k,x) order by k;
-- 1 | '0101' | '0000'
-- 2 | '0111' | '0000'
-- 3 | '1111' | '0000'
-- 4 | '1111' | '0000'
select 1.5::double::bit;
-- error: ProgrammingError: cannot cast 1.5 (DOUBLE) to BIT (line 1, column 8)
select get_bit(5, 1);
-- error: ProgrammingError: get_bit() needs a BIT, not 5 (INTEGER) (line 1, column 8)
select get_bit('0101', 1), set_bit(null, 1, 1), '01'::bit << null;
-- 1 | NULL | NULL
select '01'::bit << -1;
-- error: DataError: bits cannot be moved by -1
select '01'::bit < 5;
-- error: ProgrammingError: cannot compare 01 (BIT) with 5 (INTEGER) (line 1, column 8)
select '01'::bit + '01'::bit;
-- error: ProgrammingError: cannot add 01 (BIT) to 01 (BIT) (line 1, column 8)
select sum('01'::bit);
-- error: ProgrammingError: sum() needs a number, not 01 (BIT) (line 1, column 8)
select upper('01'::bit);
-- error: ProgrammingError: upper() needs a string, not 01 (BIT) (line 1, column 8)

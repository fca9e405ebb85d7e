"""A BVH survives the way through named arrays, and through a file of them."""

import io

import numpy as np
import pyarrow as pa
import pytest

from raydb.errors import OperationalError
from raydb.kernels.backends.registry import open_backend
from raydb.kernels.bvh.arrays import from_arrays, to_arrays
from raydb.kernels.bvh.build_input import source_of, unwatched
from raydb.kernels.bvh.bvh import narrow_measure
from raydb.kernels.bvh.encode import encode_column, find_hierarchies
from raydb.storage.durable.sections import read_sections, write_sections


def build():
    rng = np.random.default_rng(7)
    columns = [
        encode_column(pa.array(rng.integers(0, 9, 500)).cast(pa.decimal128(21, 2))),
        encode_column(pa.array([None, "a", "b", "é"] * 125)),
        encode_column(pa.array(rng.integers(0, 300, 500))),
    ]
    found = find_hierarchies(columns, [True, True, False])
    valid = rng.random(500) < 0.5
    measures = [(rng.integers(-500, 500, 500), None), (np.where(valid, 2.5, 0.0), valid)]
    return open_backend("cpu").build(
        source_of([h for h, _ in found], [c for _, c in found], measures, 500), unwatched()
    )


def write(path, arrays, properties):
    sink = io.BytesIO()
    write_sections(sink, arrays, properties)
    path.write_bytes(sink.getvalue())


def test_round_trip_through_a_file(tmp_path):
    bvh = build()
    write(tmp_path / "x.bvh", *to_arrays(bvh))
    sections = read_sections(tmp_path / "x.bvh")
    again = from_arrays(sections.arrays, sections.properties, 500).with_checked_rows()
    for name, array in to_arrays(again)[0].items():
        before = to_arrays(bvh)[0][name]
        assert (array.dtype, array.shape) == (before.dtype, before.shape), name
        assert np.array_equal(array, before), name
    assert to_arrays(again)[1] == to_arrays(bvh)[1]
    for mine, theirs in zip(again.hierarchies, bvh.hierarchies, strict=True):
        assert [level.type for level in mine.levels] == [level.type for level in theirs.levels]
        assert all(a.equals(b) for a, b in zip(mine.levels, theirs.levels, strict=True))


def test_no_arrays_and_empty_arrays(tmp_path):
    write(tmp_path / "none", {}, {"a": [1, None, "é"]})
    properties = read_sections(tmp_path / "none").properties["a"].items(3)
    assert properties[0].integer() == 1
    assert properties[1].or_none() is None
    assert properties[2].text() == "é"
    write(tmp_path / "empty", {"x": np.empty((0, 3), np.int16)}, {})
    assert read_sections(tmp_path / "empty").arrays.take("x", np.int16, (-1, 3)).shape == (0, 3)


def test_every_flipped_byte_and_every_truncation_is_named(tmp_path):
    path = tmp_path / "damaged"
    sink = io.BytesIO()
    arrays = {"x": np.arange(9), "y": np.ones(3, np.int8)}
    write_sections(sink, arrays, {"p": 1})
    whole = sink.getvalue()
    starts = [whole.rindex(array.tobytes()) for array in arrays.values()]
    ends = [start + array.nbytes for start, array in zip(starts, arrays.values(), strict=True)]
    # Behind the directory and behind each array there are zeros, which nobody reads.
    directory_end = len(whole[: starts[0]].rstrip(b"\0"))
    read = {*range(directory_end), *range(starts[0], ends[0]), *range(starts[1], ends[1])}
    right = {name: array.tolist() for name, array in arrays.items()}

    def is_named(data):
        path.write_bytes(data)
        try:
            found = read_sections(path).arrays
            read = {name: found.take(name, array.dtype, (-1,)) for name, array in arrays.items()}
        except OperationalError as error:
            return str(path) in str(error)
        assert {name: array.tolist() for name, array in read.items()} == right
        return False

    for place, byte in enumerate(whole):
        flipped = whole[:place] + bytes([byte ^ 255]) + whole[place + 1 :]
        assert is_named(flipped) == (place in read), place
        assert is_named(whole[:place]) == (place < ends[1]), place


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(OperationalError, match="absent"):
        read_sections(tmp_path / "absent")


@pytest.mark.parametrize("numbers", [[2**40, -(2**40)], [1, 2], [0.5, 1.5]])
def test_measures_lie_in_one_piece(numbers):
    every_other = np.repeat(np.array(numbers), 2)[::2]
    measure = narrow_measure(every_other, None)
    assert measure.values.flags.c_contiguous
    assert measure.values.tolist() == numbers

"""Values that stay in other files: read in every way, and never otherwise than they were."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from flat_model import parse
from test_flat_round_trip import check_everything

import raydb
from raydb.flatstor import inspect, open_table, write_table
from raydb.storage.flat import column_plan, encode_chunk
from raydb.storage.flat.encodings.outside import RECORD, _descriptor
from raydb.storage.flat.encodings.texts import pack_entries

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PNG = b"\x89PNG\r\n\x1a\n"
IMAGES = [PNG + bytes([number]) * 1000 * number for number in range(12)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with images in a folder and in an archive."""
    (tmp_path / "img").mkdir()
    with tarfile.open(tmp_path / "set.tar", "w") as archive:
        for number, image in enumerate(IMAGES):
            (tmp_path / "img" / f"{number}.png").write_bytes(image)
            member = tarfile.TarInfo(f"{number}.png")
            member.size = len(image)
            archive.addfile(member, io.BytesIO(image))
        archive.addfile(tarfile.TarInfo("empty"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def images() -> pa.Table:
    files = [f"img/{number}.png" for number in range(len(IMAGES))]
    return pa.table({"id": range(len(files) + 1), "image": [*files, None]})


def write_images(path: str = "x.flat") -> None:
    write_table(images(), path, by_reference=["image"], chunk_rows={"image": 5})


def test_whole_files(folder: Path) -> None:
    write_images()
    expected = pa.table({"id": range(13), "image": pa.array([*IMAGES, None], pa.binary())})
    check_everything(expected, open_table("x.flat"), [12, 0, 7, 7, 3])
    with open_table("x.flat") as flat:
        column = flat.metadata.columns[1]
        assert flat.scan(filter=pc.field("image") == IMAGES[7])["id"].to_pylist() == [7]
    assert (column.modality, column.media_types) == ("image", ("image/png",))
    assert column.encodings == {"references": 3}
    assert column.size_bytes < 2000 < sum(map(len, IMAGES))
    assert "5 rows (3 references), names of 12 files" in inspect("x.flat")


def test_ranges_of_files(folder: Path) -> None:
    ranges = [
        {"file": "set.tar", "offset": 512, "length": 8},
        {"file": str(folder / "img/3.png"), "offset": 9, "length": None},
        {"file": "img/3.png", "offset": None, "length": 0},
        {"file": None, "offset": 1, "length": 1},
        None,
        {"file": "img/3.png", "offset": 8, "length": 3},
    ]
    write_table(pa.table({"part": ranges}), "x.flat", by_reference=["part"])
    values = [IMAGES[0], IMAGES[3][9:], b"", None, None, IMAGES[3][8:11]]
    expected = pa.table({"part": pa.array(values, pa.binary())})
    check_everything(expected, open_table("x.flat"), [5, 0, 3, 1, 2])


def test_the_folder_moves_as_a_whole(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    write_images()
    other = tmp_path_factory.mktemp("other") / "moved"
    shutil.move(folder / "img", other / "img")
    shutil.move(folder / "x.flat", other / "x.flat")
    (folder / "linked.flat").symlink_to(other / "x.flat")
    for path in (other / "x.flat", folder / "linked.flat"):
        assert open_table(path).item(3, "image") == IMAGES[3]


def test_the_process_may_go_to_another_folder(folder: Path) -> None:
    write_images()
    with open_table("x.flat") as flat:
        os.chdir(folder.parent)
        assert flat.item(3, "image") == IMAGES[3]


def test_chunks_have_less_than_2_gib(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_plan, "MAX_PAYLOAD_BYTES", 21_100)
    monkeypatch.setattr(encode_chunk, "MAX_PAYLOAD_BYTES", 21_100)
    write_table(images(), "x.flat", by_reference=["image"])
    with open_table("x.flat") as flat:
        # 11,008 bytes and 10,008.
        assert flat.metadata.columns[1].encodings == {"references": 6, "all_null": 1}
        assert flat.column("image").to_pylist() == [*IMAGES, None]
    with pytest.raises(raydb.DataError, match=r"from row 5 on has .* set fewer chunk_rows than 5"):
        write_images()


def change(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")


def shorten(path: Path) -> None:
    os.truncate(path, 100)


def remove(path: Path) -> None:
    path.unlink()


def link_out(path: Path) -> None:
    outside = path.parents[2] / "outside.png"
    path.rename(outside)
    path.symlink_to(outside)


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def link_to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (change, "has been changed since"),
        (shorten, "has only 100 bytes"),
        (remove, "does not exist"),
        (link_out, "leads out of its folder"),
        (make_pipe, "is not a file"),
        (make_folder, "cannot be read: is a directory"),
        (link_to_itself, "cannot be read: too many levels of symbolic links"),
    ],
)
def test_what_is_not_as_it_was_is_named(
    spoil: Callable[[Path], None], reason: str, folder: Path
) -> None:
    write_images()
    spoil(folder / "img" / "3.png")
    text = (
        "row 3 of column 'image' in file 'x.flat' is bytes 0 to 3008 of the file 'img/3.png', which"
        f" {reason}"
    )
    flat = open_table("x.flat")
    reads: list[Callable[[], Any]] = [
        lambda: flat.item(3, "image"),
        lambda: flat.take([9, 3]),
        lambda: flat.take([3], ["image"]),
        lambda: flat.column("image"),
        lambda: flat.scan(filter=pc.field("image") == IMAGES[7]),
        flat.scan,
        flat.verify,
        lambda: raydb.connect().execute("SELECT max(image) FROM 'x.flat'"),
    ]
    for read in reads:
        with pytest.raises(raydb.OperationalError, match=text):
            read()
    # The others are there, and of what is not asked for nothing is read.
    assert flat.item(4, "image") == IMAGES[4]
    sums = raydb.connect().execute("SELECT sum(id), count(*) FROM 'x.flat'")
    assert sums.fetchall() == [(78, 13)]


def test_what_is_added_to_a_file_is_no_change(folder: Path) -> None:
    write_images()
    with (folder / "img" / "3.png").open("ab") as file:
        file.write(b"more")
    assert open_table("x.flat").item(3, "image") == IMAGES[3]


@pytest.mark.parametrize(
    "name",
    [
        "../secret.bin",
        "/etc/passwd",
        "img/../../secret.bin",
        "img//1.png",
        "./secret.bin",
        "..",
        "",
        "img\\1.png",
        "\0",
        "link/secret.bin",
    ],
)
def test_names_that_lead_out_are_refused(name: str, folder: Path) -> None:
    (folder.parent / "secret.bin").write_bytes(IMAGES[3])
    (folder / "link").symlink_to(folder.parent)
    write_images()
    model = parse(folder / "x.flat")
    names = [each.replace("img/3.png", name) for each in images()["image"].to_pylist()[:-1]]
    model.columns[1].parts["dictionary"] = pack_entries(pa.array(map(str.encode, names)))
    (folder / "y.flat").write_bytes(model.to_bytes())
    with open_table("y.flat") as flat:
        assert flat.item(1, "image") == IMAGES[1]
        with pytest.raises(raydb.OperationalError, match="which leads out of its folder"):
            flat.item(3, "image")


def test_a_link_that_comes_after_the_first_read_is_not_followed(folder: Path) -> None:
    write_images()
    with open_table("x.flat") as flat:
        assert flat.item(1, "image") == IMAGES[1]
        outside = folder.parent / f"{folder.name} outside"
        (folder / "img").rename(outside)
        (folder / "img").symlink_to(outside)
        with pytest.raises(raydb.OperationalError, match="which leads out of its folder"):
            flat.item(1, "image")
        # Looked at before the link, opened after it.
        with pytest.raises(OSError, match=r"symbolic links|directory"):
            _descriptor(str(folder), str(folder / "img" / "1.png"))


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("file", 12, "files below 12"),
        ("length", 2**31, "lengths below 2147483648"),
        ("offset", 2**62, "offsets below"),
        ("length", 7, "lengths whose sum is"),
    ],
)
def test_forged_records_are_refused(field: str, value: int, expected: str, folder: Path) -> None:
    write_images()
    model = parse(folder / "x.flat")
    chunk = model.columns[1].chunks[0]
    records = np.frombuffer(bytearray(chunk.sections["payload"]), RECORD)
    records[field][2] = value
    chunk.sections["payload"] = records.tobytes()
    (folder / "y.flat").write_bytes(model.to_bytes())
    with pytest.raises(raydb.OperationalError, match=f"is damaged at offset .*{expected}"):
        open_table("y.flat").item(0, "image")


def test_what_ranges_take_is_known_before_they_are_read(folder: Path) -> None:
    with (folder / "img" / "0.png").open("wb") as file:
        file.truncate(2**28)
    write_table(images(), "x.flat", by_reference=["image"])
    with raydb.connect() as con:
        con.execute("SET memory_limit = '100MB'")
        with pytest.raises(raydb.OperationalError, match=r"needs about .* MB, and"):
            con.execute("SELECT max(image) FROM 'x.flat'")
        assert con.execute("SELECT count(*) FROM 'x.flat' WHERE id < 5").fetchone() == (5,)


def test_tables_hold_the_bytes(folder: Path) -> None:
    with raydb.connect("shop.raydb") as con:
        files = "SELECT file, file AS image FROM glob('img/*.png')"
        con.execute(f"COPY ({files}) TO 'x.flat' (BY_REFERENCE image)")
        con.execute("CREATE TABLE pictures AS FROM 'x.flat'")
        con.execute("CREATE TABLE others AS FROM 'x.flat' LIMIT 0")
        con.execute("COPY others FROM 'x.flat'")
    shutil.rmtree("img")
    with raydb.connect("shop.raydb") as con:
        for table in ("pictures", "others"):
            found = con.execute(
                f"SELECT image FROM {table} ORDER BY octet_length(image)"
            ).fetchall()
            assert found == [(image,) for image in IMAGES]


def test_members_of_archives(folder: Path) -> None:
    with raydb.connect() as con:
        members = "SELECT name, content AS image FROM tar_ranges('*.tar')"
        con.execute(f"COPY ({members}) TO 'x.flat' (BY_REFERENCE (image))")
        found = con.execute("SELECT name, image FROM 'x.flat'").fetchall()
        assert found == [(f"{n}.png", image) for n, image in enumerate(IMAGES)] + [("empty", b"")]
        with tarfile.open("x.tgz", "w:gz"):
            pass
        for file in ("x.tgz", "img/3.png"):
            with pytest.raises(raydb.DataError, match=f"file '{file}' is no tar archive, or is"):
                con.execute(f"FROM tar_ranges('{file}')")


def spoil_header(header: bytearray) -> None:
    header[10] ^= 0xFF


def lead_back_to_itself(header: bytearray) -> None:
    header[124:136] = b"\xff" * 10 + b"\xfe\x00"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)


@pytest.mark.parametrize("spoil", [spoil_header, lead_back_to_itself])
def test_damaged_archives_are_refused(spoil: Callable[[bytearray], None], folder: Path) -> None:
    content = bytearray((folder / "set.tar").read_bytes())
    with tarfile.open("set.tar") as archive:
        start = archive.getmember("5.png").offset
    header = content[start : start + 512]
    spoil(header)
    content[start : start + 512] = header
    (folder / "bad.tar").write_bytes(content)
    with pytest.raises(
        raydb.DataError, match=r"'bad\.tar' is no tar archive, or is compressed or d"
    ):
        raydb.connect().execute("FROM tar_ranges('bad.tar')")


@pytest.mark.parametrize(
    ("image", "failure", "text"),
    [
        ("/etc/passwd", raydb.ProgrammingError, "file '/etc/passwd' .* is outside of '.*', the"),
        ("../x", raydb.ProgrammingError, r"file '\.\./x' of column 'image' is outside of"),
        (3, raydb.ProgrammingError, "holds paths of files or structs of .*, not int64"),
        ({"name": "x"}, raydb.ProgrammingError, "holds paths of files or structs of"),
        ({"file": "img/1.png", "offset": 2**62, "length": 0}, raydb.DataError, "cannot be bytes"),
        ({"file": "x", "offset": "y"}, raydb.ProgrammingError, "holds paths of files or structs"),
        ("img/none", raydb.OperationalError, "row 0 .* in the file 'img/none', which does not"),
        ("img", raydb.OperationalError, "row 0 .*'img', which cannot be read: is a directory"),
        ({"file": "img/1.png", "offset": -1}, raydb.DataError, "row 0 .* cannot be bytes -1 to"),
        ({"file": "img/1.png", "length": -1}, raydb.DataError, "row 0 .* cannot be bytes 0 to -1"),
        ({"file": "img/1.png", "offset": 9999}, raydb.DataError, "cannot be bytes 9999 to 1008"),
        ({"file": "img/1.png", "length": 9999}, raydb.OperationalError, "has only 1008 bytes"),
    ],
)
def test_what_cannot_be_referred_to(image: Any, failure: Any, text: str, folder: Path) -> None:
    with pytest.raises(failure, match=text):
        write_table(pa.table({"image": [image]}), "x.flat", by_reference=["image"])
    assert not (folder / "x.flat").exists()


def test_settings_that_do_not_fit(folder: Path) -> None:
    for settings, text in (
        ({"by_reference": ["imag"]}, "column 'imag' does not exist; did you mean 'image'"),
        ({"by_reference": ["image"], "encodings": {"image": "fsst"}}, "without an encoding"),
        ({"encodings": {"image": "references"}}, "cannot have the encoding 'references'"),
    ):
        with pytest.raises(raydb.ProgrammingError, match=text):
            write_table(images(), "x.flat", **settings)
    named_twice = pa.table([images()["image"]] * 2, names=["image", "image"])
    with pytest.raises(raydb.ProgrammingError, match="column 'image' appears 2 times"):
        write_table(named_twice, "x.flat", by_reference=["image"])
    offsets = [pa.array(["img/1.png"]), pa.array([1]), pa.array([2])]
    ranges = pa.StructArray.from_arrays(offsets, ["file", "offset", "offset"])
    with pytest.raises(raydb.ProgrammingError, match="holds paths of files or structs of"):
        write_table(pa.table({"image": ranges}), "x.flat", by_reference=["image"])
    with pytest.raises(raydb.NotSupportedError, match=r"'s3://a/x\.flat' cannot refer to others"):
        write_table(images(), "s3://a/x.flat", by_reference=["image"])
    with raydb.connect() as con:
        rows = "COPY (SELECT 'img/1.png' AS image, 1 AS n)"
        with pytest.raises(raydb.ProgrammingError, match="does not go with partition_by"):
            con.execute(f"{rows} TO 'y' (FORMAT flat, BY_REFERENCE image, PARTITION_BY n)")
        with pytest.raises(raydb.NotSupportedError, match="cannot refer to others"):
            con.execute(f"{rows} TO 's3://a/x.flat' (BY_REFERENCE image)")

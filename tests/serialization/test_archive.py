"""The zip container: what it writes, what it reads, and what it refuses."""

import io
import struct
import zipfile

import pytest

from rushlight.serialization import archive as reading
from rushlight.serialization import archive_writer as writing
from rushlight.serialization.archive import Archive
from rushlight.serialization.archive_writer import ArchiveWriter

RECORDS = {"data.pkl": b"pickled", "data/0": bytes(range(256)) * 3, "data/1": b"", "version": b"3\n"}


def written(records=RECORDS, start=b""):
    file = io.BytesIO()
    file.write(start)
    archive = ArchiveWriter(file, "archive")
    for name, data in records.items():
        archive.write(name, data)
    archive.close()
    file.seek(len(start))
    return file


def zipped(records, method=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in records:
            archive.writestr(name, data)
    file.seek(0)
    return file


def read_all(file):
    archive = Archive(file)
    return {
        name.removeprefix(archive.prefix): archive.read(name.removeprefix(archive.prefix)) for name in archive.entries
    }


def test_what_is_written_is_read():
    assert read_all(written()) == RECORDS


def test_the_standard_library_reads_it_and_finds_no_fault():
    with zipfile.ZipFile(written()) as archive:
        assert archive.testzip() is None
        assert {name: archive.read("archive/" + name) for name in RECORDS} == RECORDS
        assert all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())


def test_every_record_starts_at_a_multiple_of_64_bytes():
    archive = Archive(written())
    assert [archive.position(name) % 64 for name in RECORDS] == [0] * len(RECORDS)


def test_an_archive_may_start_inside_a_file():
    assert read_all(written(start=b"something before")) == RECORDS


def test_zip64_structures(monkeypatch):
    monkeypatch.setattr(writing, "MAX_32", 500)
    monkeypatch.setattr(writing, "MAX_16", 2)
    data = written().getvalue()
    assert reading.LOCATOR_64 in data
    # The lowered limits stand where 64-bit values follow; a reader knows them by their real value.
    monkeypatch.setattr(reading, "MAX_32", 500)
    monkeypatch.setattr(reading, "MAX_16", 2)
    assert read_all(io.BytesIO(data)) == RECORDS


def test_deflated_records_are_read():
    records = [("a/data.pkl", b"x" * 100_000), ("a/data/0", b""), ("a/version", b"3")]
    assert read_all(zipped(records, zipfile.ZIP_DEFLATED)) == {name[2:]: data for name, data in records}


def test_no_truncation_goes_unnoticed():
    data = written().getvalue()
    for length in range(len(data)):
        with pytest.raises(RuntimeError, match="PytorchStreamReader failed"):
            read_all(io.BytesIO(data[:length]))


def test_a_changed_byte_in_a_record_is_noticed():
    data = bytearray(written().getvalue())
    data[data.index(bytes(range(256))) + 7] ^= 1
    with pytest.raises(RuntimeError, match="CRC-32"):
        read_all(io.BytesIO(data))


def test_a_checksum_of_zero_means_none():
    file = io.BytesIO()
    archive = ArchiveWriter(file, "archive", compute_crc32=False)
    archive.write("data.pkl", b"pickled")
    archive.close()
    file.seek(0)
    assert read_all(file) == {"data.pkl": b"pickled"}


def central_fields(data, record):
    """Where the directory's entry of a record begins."""
    return data.rindex(b"archive/" + record) - reading.central_header_layout.size


def patched(record, offset, layout, value):
    data = bytearray(written().getvalue())
    struct.pack_into(layout, data, central_fields(data, record) + offset, value)
    return io.BytesIO(data)


@pytest.mark.parametrize("size", [0, 10, 769, 1 << 20, 0xFFFFFFFE, 0xFFFFFFFF])
def test_declared_sizes_must_be_the_real_ones(size):
    for offset in (20, 24):
        with pytest.raises(RuntimeError, match="PytorchStreamReader failed"):
            read_all(patched(b"data/0", offset, "<I", size))


@pytest.mark.parametrize("header", [0, 1, 128, 5000, 0xFFFFFFFE])
def test_records_must_not_share_bytes_or_lie_outside(header):
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed"):
        read_all(patched(b"data/0", 42, "<I", header))


def test_an_oversized_record_that_swallows_the_next_is_refused():
    data = bytearray(written().getvalue())
    at = central_fields(data, b"data/0")
    swallowed = 256 * 3 + 300
    struct.pack_into("<II", data, at + 20, swallowed, swallowed)
    with pytest.raises(RuntimeError, match="overlaps"):
        read_all(io.BytesIO(data))


def test_duplicate_names_are_refused():
    with pytest.warns(UserWarning, match="Duplicate"):
        file = zipped([("a/data.pkl", b"1"), ("a/data.pkl", b"2")])
    with pytest.raises(RuntimeError, match="twice"):
        Archive(file)


def test_encrypted_records_and_other_methods_are_refused():
    with pytest.raises(RuntimeError, match="encrypted"):
        read_all(patched(b"data/0", 8, "<H", 1))
    with pytest.raises(RuntimeError, match="compression method 14"):
        read_all(patched(b"data/0", 10, "<H", 14))


def test_a_zip_bomb_is_refused_before_it_is_unpacked(monkeypatch):
    monkeypatch.setattr(reading, "_UNPACKED_LIMIT", 1 << 16)
    with pytest.raises(RuntimeError, match="zip bomb"):
        Archive(zipped([("a/data.pkl", bytes(1 << 20))], zipfile.ZIP_DEFLATED))


@pytest.mark.parametrize("change", [-1000, -1, 1, 1000])
def test_deflated_records_that_lie_about_their_size(change):
    data = bytearray(zipped([("archive/data.pkl", b"abc" * 5000)], zipfile.ZIP_DEFLATED).getvalue())
    struct.pack_into("<I", data, central_fields(data, b"data.pkl") + 24, 15_000 + change)
    with pytest.raises(RuntimeError, match="another size"):
        read_all(io.BytesIO(data))


def test_a_huge_number_of_declared_records_costs_nothing():
    data = bytearray(written().getvalue())
    end = data.rindex(reading.END)
    struct.pack_into("<HH", data, end + 8, 0xFFFE, 0xFFFE)
    with pytest.raises(RuntimeError, match="central directory"):
        Archive(io.BytesIO(data))

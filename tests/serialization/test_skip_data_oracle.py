"""``serialization.skip_data``: files whose tensors have no bytes, and tensors that are made without reading theirs."""

import io
import zipfile

import pytest

torch = pytest.importorskip("torch")
rl = pytest.importorskip("rushlight")
BOTH = pytest.mark.parametrize("t", [rl, torch], ids=["rushlight", "torch"])


def written(t, skipped):
    file, values = io.BytesIO(), t.arange(1.0, 7.0)
    kept = {"a": values.reshape(2, 3), "b": values[:3], "c": [t.tensor([True]), 3]}
    if skipped:
        with t.serialization.skip_data():
            t.save(kept, file)
    else:
        t.save(kept, file)
    return file.getvalue()


def records(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {
            entry.filename: (entry.file_size, entry.header_offset)
            for entry in archive.infolist()
            if "data/" in entry.filename and "serialization" not in entry.filename
        }


@BOTH
def test_the_places_are_those_of_a_full_file(t):
    without, full = written(t, True), written(t, False)
    assert records(without) == records(full) and len(without) == len(full)
    for reader in (rl, torch):
        found = reader.load(io.BytesIO(without))
        assert found["a"].tolist() == [[0, 0, 0], [0, 0, 0]] and found["b"].tolist() == [0, 0, 0]
        assert found["c"][0].tolist() == [False] and found["c"][1] == 3


@BOTH
def test_loading_without_reading(t):
    with t.serialization.skip_data() as entered:
        found = t.load(io.BytesIO(written(t, False)))
    assert entered is None and found["a"].shape == (2, 3) and found["c"][1] == 3
    assert found["a"].untyped_storage().data_ptr() == found["b"].untyped_storage().data_ptr()
    assert t.load(io.BytesIO(written(t, False)))["b"].tolist() == [1, 2, 3]  # the block is over


def test_ours_are_zero():
    with rl.serialization.skip_data():
        assert not rl.load(io.BytesIO(written(torch, False)))["a"].any()


@BOTH
def test_blocks_nest_and_the_older_format_is_refused(t):
    with t.serialization.skip_data():
        with t.serialization.skip_data(materialize_fake_tensors=True):
            pass
        with pytest.raises(RuntimeError, match="Cannot use skip_data=True with _use_new_zipfile_serialization=False"):
            t.save(t.ones(1), io.BytesIO(), _use_new_zipfile_serialization=False)

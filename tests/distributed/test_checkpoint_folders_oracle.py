"""Checkpoints: folders that PyTorch reads, and its own that are read here; what is cut off or damaged is never loaded."""

import builtins
import itertools
import os
import pickle

import pytest
from jobs import finish, mpi_job

import rushlight
from rushlight.distributed import checkpoint
from rushlight.distributed.checkpoint import filesystem, metadata_files

pytestmark = [
    pytest.mark.filterwarnings("ignore:torch.distributed is disabled, unavailable or uninitialized:UserWarning"),
    pytest.mark.filterwarnings("ignore:Detected an existing checkpoint:UserWarning"),
]


def state(fill, library=rushlight):
    return {"model": {"weight": library.full((2, 3), fill), "half": library.full((2,), fill, dtype=library.bfloat16)}, "step": int(fill),
            "list": [library.ones(()) * fill, {"a": (1, "b")}], "names": ["x", fill], "none": None}  # fmt: skip


def test_saved_by_four_processes_and_loaded_by_two(tmp_path):
    for count, what in ((4, "save"), (2, "load")):
        status, out, err = finish(mpi_job(count, "saving.py", what, tmp_path / "checkpoint"))
        assert status == 0 and (what == "save" or err.count("went on") == 2), f"{out}\n{err}"


def test_folders_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("torch.distributed.checkpoint")
    checkpoint.save(state(3.0), checkpoint_id=tmp_path / "ours")
    theirs.save(state(3.0, torch), checkpoint_id=tmp_path / "theirs")
    checkpoint.save(state(1.0), checkpoint_id=tmp_path / "written over")
    told = []
    for module, values in ((checkpoint, state(2.0)), (theirs, state(3.0, torch))):
        with pytest.warns(UserWarning, match="Detected an existing checkpoint") as warned:
            module.save(values, checkpoint_id=tmp_path / "written over")
        told.append([str(each.message) for each in warned if "Detected" in str(each.message)])
    assert told[0] == told[1]
    for library, module in ((rushlight, checkpoint), (torch, theirs)):
        for folder in ("ours", "theirs", "written over"):
            found = state(0.0, library)
            module.load(found, checkpoint_id=tmp_path / folder)
            assert str(found) == str(state(3.0, library))


def test_wrong_states(tmp_path):
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("torch.distributed.checkpoint")
    stories = []
    for library, module in ((torch, theirs), (rushlight, checkpoint)):
        module.save({"weight": library.ones(2, 3)}, checkpoint_id=tmp_path / library.__name__)
        told = []
        for wrong in ({"weight": library.ones(2, 4)}, {"other": library.ones(2)}):
            with pytest.raises(module.CheckpointException) as error:
                module.load(wrong, checkpoint_id=tmp_path / library.__name__)
            told.append(str(error.value.failures[0][0]).split("\nhint:")[0])
        with pytest.raises(RuntimeError) as error:
            module.save({}, checkpoint_id=None)
        stories.append([*told, str(error.value).split("\nhint:")[0]])
    assert stories[0] == stories[1]


def test_what_is_cut_off_leaves_a_whole_checkpoint(tmp_path, monkeypatch):
    """Wherever it is cut off: the older one, or from when its metadata is there on, the new one."""
    checkpoint.save(state(1.0), checkpoint_id=tmp_path)
    older, loaded, allowed = 1.0, [], 0
    while True:
        calls = itertools.count()

        def limited(real):
            def call(*args, **options):
                if next(calls) == allowed:
                    raise OSError(28, "No space left on device")
                return real(*args, **options)

            return call

        with monkeypatch.context() as patched:
            patched.setattr(
                filesystem.os, "fsync", limited(lambda file: None)
            )  # quicker, and nobody pulls the plug here
            for place, name in ((filesystem.os, "replace"), (filesystem.Path, "unlink")):
                patched.setattr(place, name, limited(getattr(place, name)))
            try:
                checkpoint.save(state(2.0 + allowed), checkpoint_id=tmp_path)
                break
            except checkpoint.CheckpointException:
                pass
        found = state(0.0)
        checkpoint.load(found, checkpoint_id=tmp_path)
        assert str(found) in (str(state(older)), str(state(2.0 + allowed)))
        loaded.append(found["step"] != older)
        older, allowed = float(found["step"]), allowed + 1
    assert loaded == [False] * 6 + [True] * (len(loaded) - 6) and len(loaded) >= 7
    series = metadata_files.read((tmp_path / ".metadata").read_bytes())
    names = {each.relative_path for each in series.storage_data.values()}
    assert sorted(os.listdir(tmp_path)) == [".checksums", ".metadata", *names]


@pytest.mark.parametrize("what", ["cut", "changed", "metadata", "code", "outside"])
def test_what_is_damaged_is_not_loaded(tmp_path, what):
    checkpoint.save(state(1.0), checkpoint_id=tmp_path)
    data, metadata = tmp_path / "__0_0.distcp", tmp_path / ".metadata"
    if what == "cut":
        data.write_bytes(data.read_bytes()[:-900])
    elif what == "changed":
        content = bytearray(data.read_bytes())
        content[len(content) - 300] ^= 1
        data.write_bytes(content)
    elif what == "metadata":
        metadata.write_bytes(metadata.read_bytes()[:-40])
    elif what == "code":
        metadata.write_bytes(pickle.dumps(builtins.print))
    else:
        found = metadata_files.read(metadata.read_bytes())
        for each in found.storage_data.values():
            each.relative_path = "../" + each.relative_path
        metadata.write_bytes(metadata_files.written(found))
    with pytest.raises(checkpoint.CheckpointException, match=r"damaged|outside"):
        checkpoint.load(state(0.0), checkpoint_id=tmp_path)


def test_asynchronous_and_converted(tmp_path):
    live = state(5.0)
    future = checkpoint.async_save(live, checkpoint_id=tmp_path / "later")
    live["model"]["weight"].zero_()  # what was there when it was called is saved
    assert future.result(30) is None
    checkpoint.format_utils.dcp_to_torch_save(tmp_path / "later", tmp_path / "one.pt")
    found = rushlight.load(tmp_path / "one.pt")
    assert str(found["model"]) == str(state(5.0)["model"]) and found["list"][1] == {"a": (1, "b")}
    checkpoint.format_utils.torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "back")
    again = state(0.0)
    checkpoint.load(again, checkpoint_id=tmp_path / "back")
    assert str(again) == str(state(5.0))


@pytest.mark.parametrize("flat", [False, True])
def test_states_of_optimizers(flat):
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("torch.distributed.checkpoint.state_dict")
    stories = []
    for library, functions in ((torch, theirs), (rushlight, None)):
        functions = functions or __import__("rushlight.distributed.checkpoint.state_dict", fromlist=["x"])
        library.manual_seed(0)
        models = [library.nn.Linear(3, 2) for _ in range(2)]
        optimizers = [library.optim.AdamW(each.parameters(), lr=0.1 * (1 + place)) for place, each in enumerate(models)]
        models[0](library.ones(1, 3)).sum().backward()
        optimizers[0].step()
        options = functions.StateDictOptions(flatten_optimizer_state_dict=flat)
        kept = functions.get_state_dict(models[0], optimizers[0], options=options)
        functions.set_state_dict(
            models[1], optimizers[1], model_state_dict=kept[0], optim_state_dict=kept[1], options=options
        )
        stories.append([str(kept), str(models[1].weight), str(optimizers[1].state_dict())])
    assert stories[0] == stories[1]

"""SummaryWriter writes the events that PyTorch's does, read back by TensorBoard's own reader."""

import importlib
import os
import warnings

import numpy as np
import pytest

import rushlight

pytest.importorskip("tensorboard")
torch = pytest.importorskip("torch")

from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader  # noqa: E402
from tensorboard.compat.proto.event_pb2 import Event  # noqa: E402
from tensorboard.compat.proto.graph_pb2 import GraphDef  # noqa: E402

LIBRARIES = (rushlight, torch)


def writer_of(library, folder, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module(f"{library.__name__}.utils.tensorboard")
    return module.SummaryWriter(str(folder / library.__name__), **options)


def events_below(folder):
    """Events by folder, and the content of other files; times only where they are the given one."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            key = os.path.relpath(place, folder)
            path = os.path.join(place, name)
            if "tfevents" not in name:
                with open(path, "rb") as file:
                    found[key, name] = file.read()
                continue
            for raw in RawEventFileLoader(path).Load():
                event = Event.FromString(raw)
                if event.HasField("file_version"):
                    event.ClearField("source_metadata")
                if event.wall_time != 7.0:
                    event.wall_time = 0
                found.setdefault(key, []).append(str(event))
    return found


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0].replace("rushlight.tensor.base", "torch")


def numbers(library, *shape, dtype=None):
    count = int(np.prod(shape))
    made = library.tensor([((17 * n) % 23) / 23 for n in range(count)]).reshape(shape)
    return made if dtype is None else made.to(dtype)


T = {"global_step": 3, "walltime": 7.0}
CALLS = {
    "scalar": lambda t, w: [w.add_scalar("a/b", v, **T) for v in (1, 2.5, np.float32(3), t.tensor([4.0]), t.tensor(5))],
    "new scalar": lambda t, w: [
        w.add_scalar("a", 1.1, **T, new_style=True),
        w.add_scalar("a", 1.1, **T, new_style=True, double_precision=True),
    ],
    "bfloat16 scalar": lambda t, w: w.add_scalar("a", t.tensor(1.5, dtype=t.bfloat16), **T),
    "no scalar": lambda t, w: w.add_scalar("a", t.ones(2)),
    "string scalar": lambda t, w: w.add_scalar("a", [1]),
    "scalars": lambda t, w: w.add_scalars("main/x", {"one": 1, "two": t.tensor(2.0)}, **T),
    "tensor": lambda t, w: [
        w.add_tensor("t", numbers(t, 2, 3, dtype=d), **T)
        for d in (t.float32, t.float64, t.float16, t.bfloat16, t.int8, t.int16, t.int32, t.int64, t.uint8, t.bool, t.complex64)
    ],
    "odd tensor": lambda t, w: w.add_tensor("t", t.ones(2, dtype=t.uint16)),
    "histogram": lambda t, w: [w.add_histogram("h", numbers(t, 50) - 0.5, **T), w.add_histogram("h", np.arange(9), **T)],
    "histogram bins": lambda t, w: [
        w.add_histogram("h", numbers(t, 50), bins=b, max_bins=m, **T) for b in (10, "auto", "fd") for m in (None, 3)
    ],
    "many bins": lambda t, w: w.add_histogram("h", numbers(t, 50), max_bins=100, **T),
    "no histogram": lambda t, w: w.add_histogram("h", t.ones(0)),
    "no buckets": lambda t, w: w.add_histogram("h", t.ones(3), bins=[5, 6]),
    "raw histogram": lambda t, w: w.add_histogram_raw("h", 0, 3, 4, 5.0, 9.0, [1, 2, 3], [1, 2, 1], **T),
    "wrong raw histogram": lambda t, w: w.add_histogram_raw("h", 0, 3, 4, 5.0, 9.0, [1, 2], [1, 2, 1]),
    "image": lambda t, w: [
        w.add_image("i", numbers(t, 3, 5, 4), **T),
        w.add_image("i", numbers(t, 5, 4), dataformats="HW", **T),
        w.add_image("i", numbers(t, 5, 4, 3), dataformats="HWC", **T),
        w.add_image("i", numbers(t, 1, 5, 4), **T),
        w.add_image("i", (numbers(t, 3, 5, 4) * 255).to(t.uint8), **T),
    ],
    "images": lambda t, w: [w.add_images("i", numbers(t, 11, c, 3, 2), **T) for c in (1, 3)],
    "wrong images": lambda t, w: w.add_images("i", numbers(t, 2, 2, 3, 2)),
    "wrong formats": lambda t, w: w.add_image("i", numbers(t, 3, 5, 4), dataformats="CH"),
    "twice a format": lambda t, w: w.add_image("i", numbers(t, 3, 5, 4), dataformats="CCW"),
    "boxes": lambda t, w: [
        w.add_image_with_boxes("b", numbers(t, 3, 30, 40), t.tensor([[1, 2, 20, 25], [5, 5, 9, 9]]), labels=labels, **T)
        for labels in (None, ["cat", "dog"], "one")
    ],
    "audio": lambda t, w: [w.add_audio("s", numbers(t, 1, 40) * 2 - 1, sample_rate=100, **T), w.add_audio("s", numbers(t, 9) * 3, **T)],
    "stereo": lambda t, w: w.add_audio("s", numbers(t, 2, 40)),
    "text": lambda t, w: w.add_text("x", "some *text* ä", **T),
    "pr curve": lambda t, w: [
        w.add_pr_curve("p", (numbers(t, 40) > 0.5).to(t.int64), numbers(t, 40).flip(0), num_thresholds=n, weights=weights, **T)
        for n in (5, 127, 500) for weights in (None, 2.0)
    ],
    "raw pr curve": lambda t, w: w.add_pr_curve_raw("p", [3, 1], [2, 0], [1, 2], [0, 1], [0.5, 1.0], [1.0, 0.5], num_thresholds=2, **T),
    "charts": lambda t, w: [
        w.add_custom_scalars({"c": {"one": ["Multiline", ["a", "b"]], "two": ["Margin", ["x", "y", "z"]]}}),
        w.add_custom_scalars_multilinechart(["a", "b"], title="t"),
        w.add_custom_scalars_marginchart(["a", "b", "c"], category="k"),
    ],
    "wrong margin": lambda t, w: w.add_custom_scalars_marginchart(["a", "b"]),
    "mesh": lambda t, w: [
        w.add_mesh("m", numbers(t, 1, 4, 3), **T),
        w.add_mesh("m", numbers(t, 1, 4, 3), t.ones(1, 4, 3, dtype=t.int64), t.tensor([[[0, 1, 2]]]), {"camera": {"cls": "x"}}, **T),
    ],
    "hparams": lambda t, w: w.add_hparams(
        {"lr": 0.1, "n": 3, "name": "x", "on": True, "none": None, "t": t.tensor([2.0])},
        {"loss": 1.0, "accuracy": t.tensor(0.5)},
        {"lr": [0.1, 0.2], "name": ["x", "y"]},
        run_name="run",
        global_step=2,
    ),
    "wrong hparams": lambda t, w: w.add_hparams({"a": [1]}, {}),
    "wrong domain": lambda t, w: w.add_hparams({"a": 1}, {}, {"a": ["x"]}),
    "no hparams": lambda t, w: w.add_hparams([1], {}),
    "embedding": lambda t, w: [
        w.add_embedding(numbers(t, 4, 3), ["a", "b", "c", "d"], numbers(t, 4, 3, 2, 2), 5, "x/y%"),
        w.add_embedding(numbers(t, 4, 3), [["a", 1]] * 4, tag="other", metadata_header=["name", "n"]),
    ],
    "wrong labels": lambda t, w: w.add_embedding(numbers(t, 4, 3), ["a"]),
    "wrong header": lambda t, w: w.add_embedding(numbers(t, 1, 3), [["a", 1]], metadata_header=["x"]),
    "wrong vectors": lambda t, w: w.add_embedding(numbers(t, 4)),
    "closing": lambda t, w: [w.flush(), w.close(), w.close(), w.flush(), w.get_logdir() and None],
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_what_is_written(name, tmp_path, capsys):
    stories = []
    for library in LIBRARIES:
        with writer_of(library, tmp_path) as writer:
            found = outcome(lambda: CALLS[name](library, writer))
            refused = isinstance(found, tuple) and found
        printed = capsys.readouterr().out
        stories.append((refused, printed, {} if refused else events_below(tmp_path / library.__name__)))
    assert stories[0] == stories[1]


def test_steps_are_purged(tmp_path):
    found = []
    for library in LIBRARIES:
        with writer_of(library, tmp_path, purge_step=4, filename_suffix=".end") as writer:
            writer.add_scalar("a", 1, 5, 7.0)
        folder = tmp_path / library.__name__
        assert all(name.endswith(".end") for name in os.listdir(folder))
        found.append(events_below(folder))
    assert found[0] == found[1]


def test_the_folder_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module("rushlight.utils.tensorboard")
    with module.SummaryWriter(comment="_mine") as writer:
        assert writer.get_logdir().startswith("runs" + os.sep) and writer.get_logdir().endswith("_mine")


def test_a_graph(tmp_path, capsys):
    """Operations below the modules that they ran in, tied to inputs and parameters."""
    model = rushlight.nn.Sequential(rushlight.nn.Linear(3, 4), rushlight.nn.ReLU(), rushlight.nn.Linear(4, 2))
    with writer_of(rushlight, tmp_path) as writer:
        writer.add_graph(model, rushlight.ones(5, 3), verbose=True)
    events = [
        Event.FromString(raw)
        for name in os.listdir(tmp_path / "rushlight")
        for raw in RawEventFileLoader(str(tmp_path / "rushlight" / name)).Load()
    ]
    graph = GraphDef.FromString(next(event.graph_def for event in events if event.HasField("graph_def")))
    nodes = {node.name: node for node in graph.node}
    assert len(nodes) == len(graph.node) and all(name in nodes for node in graph.node for name in node.input)
    relu = nodes["Sequential/1/relu"]
    assert relu.op == "aten::relu" and list(nodes["output/0"].input) == ["Sequential/2/addmm"]
    first = nodes[relu.input[0]]
    assert set(first.input) == {"input/0", "Sequential/0/weight", "Sequential/0/bias"}
    assert [size.size for size in relu.attr["_output_shapes"].list.shape[0].dim] == [5, 4]
    assert any(event.HasField("tagged_run_metadata") for event in events)
    assert "Sequential/1/relu = aten::relu(" in capsys.readouterr().out


def test_packages_that_are_missing(tmp_path, monkeypatch):
    with writer_of(rushlight, tmp_path) as writer:
        if importlib.util.find_spec("moviepy") is None:
            with pytest.raises(ModuleNotFoundError, match="add_video needs package moviepy"):
                writer.add_video("v", numbers(rushlight, 2, 3, 3, 4, 4))
        if importlib.util.find_spec("onnx") is None:
            with pytest.raises(ModuleNotFoundError):
                writer.add_onnx_graph("x.onnx")
        if importlib.util.find_spec("matplotlib") is None:
            with pytest.raises(ModuleNotFoundError):
                writer.add_figure("f", None)


def test_videos_stand_side_by_side():
    modules = [importlib.import_module(f"rushlight.utils.tensorboard.{name}") for name in ("arrays", "graphs")]
    theirs = importlib.import_module("torch.utils.tensorboard._utils")._prepare_video
    for count in (1, 2, 3, 5):
        videos = np.random.default_rng(0).random((count, 3, 3, 4, 5))
        assert np.array_equal(modules[0].video_frames(videos), theirs(videos))

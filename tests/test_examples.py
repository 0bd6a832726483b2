"""The programs in examples/ run, and end with the loss that PyTorch ends with for the same seed.

The numbers here are PyTorch's: `python tests/test_examples.py`, where it is installed, prints them.
"""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
OTHERS = "common", "draw_graph", "names"  # parts of them, and one that PyTorch cannot run
LOSSES = {  # options, and the loss of the last step
    "actor_critic": ("--steps 2", 34.9347),
    "autoencoder": ("--steps 10", 0.148824),
    "classify_points": ("--steps 2", 0.723206),
    "date_translation": ("--steps 2 --batch 16 --hidden 32", 2.3558),
    "dcgan": ("--steps 2 --batch 8 --width 8", 0.942144),
    "diffusion": ("--steps 5 --batch 64 --hidden 32 --times 10", 0.906695),
    "fit_line": ("--steps 10", 0.876341),
    "graph_convolution": ("--steps 5 --nodes 200", 1.02837),
    "language_model": ("--steps 2 --batch 4 --width 16 --length 12 --sentences 4", 3.64381),
    "lstm_sequence": ("--steps 5", 0.399839),
    "mixture_density": ("--steps 5 --batch 64", 0.513802),
    "name_languages": ("--steps 3", 1.68904),
    "name_writer": ("--steps 3 --hidden 32", 3.30357),
    "normalizing_flow": ("--steps 3 --batch 64 --layers 4", 2.88293),
    "saliency": ("--steps 3 --batch 8", 1.40326),
    "siamese": ("--steps 2 --batch 16", 0.891202),
    "vae": ("--steps 10 --batch 16", 38.7195),
}

_spec = importlib.util.spec_from_file_location("benchmarks_examples", ROOT / "benchmarks" / "examples.py")


@pytest.fixture
def load(monkeypatch):
    """Makes an example a module; what it imports from its folder is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "benchmarks")])
    benchmark = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(benchmark)
    yield benchmark.load
    for name in ("common", "names", "side_by_side"):
        sys.modules.pop(name, None)


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]


def test_every_example_is_tried():
    assert sorted([*LOSSES, *OTHERS]) == EXAMPLES


@pytest.mark.parametrize("name", LOSSES)
def test_an_example_ends_with_the_loss_of_pytorch(name, load, tmp_path, capsys):
    options, loss = LOSSES[name]
    drawn = tmp_path / "graph.txt"
    assert load(name, "rushlight").main([*options.split(), "--draw", str(drawn)]) == pytest.approx(loss, rel=2e-4)
    assert "loss = " in drawn.read_text(encoding="utf-8")
    assert re.match(r"step +\d+: loss ", capsys.readouterr().out)


@pytest.fixture
def one_thread():
    """PyTorch works alone: more of its threads wait for each other on a busy machine."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", LOSSES)
def test_an_example_prints_what_it_prints_under_pytorch(name, load, capsys):
    losses, printed = [], []
    for module in ("rushlight", "torch"):
        losses.append(load(name, module).main(LOSSES[name][0].split()))
        printed.append(capsys.readouterr().out)
    ours, theirs = printed
    assert losses[0] == pytest.approx(losses[1], rel=2e-4)
    assert numbers(ours) == pytest.approx(numbers(theirs), rel=2e-3, abs=2e-4)
    assert len(ours) == len(theirs)  # in images, a shade may be the next one
    assert sum(one != other for one, other in zip(ours, theirs)) <= len(ours) / 50


def test_an_example_runs_from_the_command_line():
    command = [sys.executable, str(ROOT / "examples" / "fit_line.py"), "--steps", "10", "--seed", "1"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.count("step") == 5 and found.stderr == ""


if __name__ == "__main__":
    sys.path.append(str(ROOT / "benchmarks"))
    from examples import load as load_example

    for name, (options, _) in LOSSES.items():
        print(f"    {name!r}: ({options!r}, {load_example(name, 'torch').main(options.split())!r}),", file=sys.stderr)

"""``rushlight demo``: it trains, passes 95 %, prints a graph, draws two pictures."""

import re
import struct
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from command import rushlight

from rushlight.cli import bar


def accuracies(output):
    return [float(found) for found in re.findall(r"test accuracy +([\d.]+) %", output)]


def check_pictures(folder):
    for name in ("rushlight-curve.svg", "rushlight-graph.svg"):
        assert ElementTree.parse(folder / name).getroot().tag.endswith("svg")


def test_demo_with_defaults_passes_95_percent(tmp_path):
    done = rushlight("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = accuracies(done.stdout)
    assert len(found) == 12 and found[-1] > 95
    assert "↑ Addmm [4, 10] = scores · fc2" in done.stdout
    assert "conv1.weight [16, 1, 3, 3]" in done.stdout
    assert "552/552" in done.stderr  # the bar
    check_pictures(tmp_path)


def test_same_seed_same_run(tmp_path):
    first, second, other = (
        rushlight("demo", "--epochs", 1, "--seed", seed, "--out", tmp_path / "new" / "folder") for seed in (1, 1, 2)
    )
    check_pictures(tmp_path / "new" / "folder")
    epochs = [re.findall(r"epoch .*", done.stdout) for done in (first, second, other)]
    assert len(epochs[0]) == 1
    assert epochs[0] == epochs[1] != epochs[2]


def write_fashion_like(root, train=400, test=100):
    """Ten noisy prototypes in the files of Fashion-MNIST."""
    folder = root / "FashionMNIST" / "raw"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    prototypes = rng.integers(0, 256, (10, 28, 28))
    for prefix, count in (("train", train), ("t10k", test)):
        labels = (np.arange(count) % 10).astype("u1")
        images = (prototypes[labels] // 2 + rng.integers(0, 128, (count, 28, 28))).astype("u1")
        (folder / f"{prefix}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 2051, count, 28, 28) + images.tobytes())
        (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 2049, count) + labels.tobytes())


def test_fashion_mnist_where_torchvision_puts_it(tmp_path):
    write_fashion_like(tmp_path / "data")
    done = rushlight("demo", "--data", "fashion-mnist", "--epochs", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "400 images to learn from, 100 others" in done.stdout
    assert len(accuracies(done.stdout)) == 2
    check_pictures(tmp_path)


def test_damaged_data_is_one_message(tmp_path):
    write_fashion_like(tmp_path)
    images = tmp_path / "FashionMNIST" / "raw" / "train-images-idx3-ubyte"
    images.write_bytes(images.read_bytes()[:1000])
    done = rushlight("demo", "--data", "fashion-mnist", "--root", tmp_path, "--out", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("rushlight demo: error: ") and "train-images-idx3-ubyte" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--data", "cats"], "argument --data: invalid choice: 'cats'"),
        (["--epochs", "0"], "argument --epochs: must be a whole number from 1 up, got '0'"),
        (["--out", "{file}"], "it is a file"),
        (["--out", "{file}/below"], "cannot write into the folder"),
    ],
)
def test_bad_arguments(tmp_path, arguments, message):
    (tmp_path / "file").write_text("")
    done = rushlight("demo", *(each.format(file=tmp_path / "file") for each in arguments))
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("rushlight demo: error: ") and message in last
    assert done.stdout == ""


def test_plain_bar(capsys):
    plain = bar.PlainTrainingBar(10, 0, "training")
    plain.update(5)
    plain.write("epoch 1")
    plain.update(5)
    plain.close()
    output = capsys.readouterr()
    assert output.out == "epoch 1\n"
    assert output.err == f"training: 100% [{'#' * 30}] 10/10\n"

"""``TorchVersion`` compares as PyTorch's, whatever it is compared with."""

import itertools
import operator

import pytest
from packaging.version import Version

from rushlight.torch_version import TorchVersion

torch_version = pytest.importorskip("torch.torch_version")

TEXTS = [
    "2.13.0+rushlight", "2.13.0", "2.13", "2.13.0+cpu", "2.13.0+2", "2.13.0+10", "2.13.0+abc.1", "2.13.0a0", "2.13.0a0+git12", "2.13.0rc1",
    "2.13.0.dev20260101", "2.13.0.post1", "2.13.0-1", "2.13.0a1.dev1", "2.13.0.post1.dev2", "v2.13", "1!0.1", "2.9", "2.13.0c2", "2.13.0-alpha",
    "2.13.0preview3", "2.13.0_beta_2", "10", "0", "0.0.0", "parrot", "2.x", "", " 2.13 ", "2.13.0+", "2.13.0.rev3", "2.13.0.r", "2.13.0-dev",
]  # fmt: skip
OTHERS = [
    *TEXTS,
    (2, 13),
    (2, 13, 0),
    (2, 13, 1),
    [3],
    (),
    ("2", "13"),
    (2, "x"),
    3,
    None,
    2.13,
    {2: 1},
    Version("2.9"),
]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


def answer(function, *values):
    try:
        return function(*values)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("compare", COMPARISONS, ids=lambda f: f.__name__)
def test_comparisons(compare):
    for text, other in itertools.product(TEXTS, OTHERS):
        expected = answer(compare, torch_version.TorchVersion(text), other)
        assert answer(compare, TorchVersion(text), other) == expected, (text, other)
        expected = answer(compare, other, torch_version.TorchVersion(text))
        assert answer(compare, other, TorchVersion(text)) == expected, (other, text)


def test_pairs():
    for one, other in itertools.product(TEXTS, TEXTS):
        for compare in COMPARISONS:
            theirs = answer(compare, torch_version.TorchVersion(one), torch_version.TorchVersion(other))
            assert answer(compare, TorchVersion(one), TorchVersion(other)) == theirs, (compare, one, other)

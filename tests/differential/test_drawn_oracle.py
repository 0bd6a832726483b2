"""The random testers on fixed seeds; `python tests/differential KIND` runs them on others."""

import os

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest")  # what PyTorch's database of operations imports

from kinds import told_of

SEEDS = {
    "calls": 150,
    "mixed_programs": 250,
    "graph_programs": 150,
    "indexing": 300,
    "printed": 300,
    "streams": 100,
    "trainings": 15,
}
SLOW = {
    "calls": 4,
    "mixed_programs": 2,
    "graph_programs": 1,
    "indexing": 1,
    "printed": 1,
    "streams": 4,
    "trainings": 20,
}  # one example in so many
EXAMPLES = int(os.environ.get("RUSHLIGHT_EXAMPLES", "2000"))


def _all_agree(kind, seeds):
    for seed in seeds:
        told = told_of(kind, seed)
        assert not told, f"python tests/differential {kind} --seed {seed}: {told}"


@pytest.mark.parametrize("kind", SEEDS)
def test_random_seeds_agree_with_pytorch(kind):
    _all_agree(kind, range(SEEDS[kind]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", SLOW)
def test_more_random_seeds_agree_with_pytorch(kind):
    _all_agree(kind, range(SEEDS[kind], SEEDS[kind] + EXAMPLES // SLOW[kind]))

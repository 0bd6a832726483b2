"""The model of docs/scaling.md: what a schedule of buckets hides, and that the fit finds a machine again."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "scaling.py"
SPEC = importlib.util.spec_from_file_location("benchmark_of_scaling", PATH)
scaling = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(scaling)


def test_a_network_of_its_own_hides_all_but_the_last_bucket():
    network = scaling.Network(latency=0.0, per_byte=1.0, offloaded=True)
    step, exposed = scaling.simulate(10, 8, [1, 1, 1, 1], network, 2)
    assert (step, exposed) == (19, 1)
    step, exposed = scaling.simulate(10, 8, [4, 4, 4, 4], network, 2)
    assert (step, exposed) == (28, 10)  # the first is ready at 12, and they follow each other


def test_a_processor_that_copies_hides_nothing():
    assert scaling.simulate(10, 8, [1, 1], scaling.Network(0.5, 1.0), 4)[1] == pytest.approx(2 * (2 + 1.5))


def test_the_fit_finds_the_machine():
    machine = scaling.Machine(scaling.Network(3e-6, 4e-10), 2, 1e-3)
    measured = {(size, n): machine.seen_by(n).all_reduce(size, n) for size in scaling.SIZES for n in scaling.COUNTS}
    found = scaling.fit(measured, 2)
    assert found.error(measured) < 0.1 and found.turn == pytest.approx(1e-3, rel=0.2)

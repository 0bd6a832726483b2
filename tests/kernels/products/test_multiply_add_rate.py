"""The peak that products are measured against: its program computes what the interpreter says, and no product goes beyond."""

import numpy as np
import pytest

from rushlight.kernels.compiler.kernel import compiled
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine import host
from rushlight.kernels.products import multiply_add_rate as multiply_add_rate_module
from rushlight.kernels.products.multiply_add_rate import multiply_add_rate, rate_program


@pytest.mark.parametrize("scalar", ["f32", "f64"])
def test_program_equals_the_interpreter(scalar):
    kind = {"f32": np.float32, "f64": np.float64}[scalar]
    program = rate_program(scalar, 4, 3)
    expected, found = np.full(5, 0.5, kind), np.full(5, 0.5, kind)
    interpret(program, expected, 7, 5)
    compiled(("multiply_add_rate", scalar, 4, 3), lambda: program).alone(found, 7, 5)
    np.testing.assert_array_equal(found, expected)
    assert (found != 0.5).all()


def test_rate_counts_two_operations_for_each_multiply_add(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(multiply_add_rate_module.time, "perf_counter", lambda: next(clock))
    lanes, chains = host.lanes(4), {32: 24, 16: 12}[host.vector_registers()]
    assert multiply_add_rate.__wrapped__("f32") == 2 * lanes * chains * (1 << 14) * 16

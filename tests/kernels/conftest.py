"""Makes the modules of this folder, which several tests share, importable from the folders below; plans made anew, and interpreted."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.planning import runner


def forget():
    """Forget all plans: they depend on how many threads there are."""
    rushlight.set_num_threads(rushlight.get_num_threads())


@pytest.fixture
def fresh_plans(monkeypatch):
    """Let plans be made in the test alone, with what is patched in it."""
    forget()
    yield forget
    monkeypatch.undo()
    forget()


def _in_memory(argument):
    """An array as its elements lie, complex numbers as real ones."""
    if not isinstance(argument, np.ndarray):
        return argument
    array = argument.transpose(sorted(range(argument.ndim), key=lambda axis: -argument.strides[axis]))
    return array if array.dtype.kind != "c" else array.reshape(-1).view(array.real.dtype)


class Interpreted:
    """The kernel of a Launch, interpreted, with bounds checked."""

    def __init__(self, launch):
        def run(*arguments):
            interpret(launch.build(*launch.form), *map(_in_memory, arguments), workers=2, order="reversed")

        self.alone = self.threaded = run


@pytest.fixture
def interpreted(monkeypatch, fresh_plans):
    """A function that lets plans be run by the interpreter from then on, in scratch memory of the size that they ask for."""

    def begin():
        fresh_plans()
        monkeypatch.setattr(runner, "kernel_of", Interpreted)
        monkeypatch.setattr(runner, "own_scratch", lambda name, own, dtype, common: np.zeros(common + 2 * own, dtype))

    return begin

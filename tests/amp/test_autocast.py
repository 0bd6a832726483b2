"""Autocast without PyTorch: the listed functions ask whoever imported them, and are themselves again outside."""

import inspect
import threading

import pytest

import rushlight as rl
from rushlight import cat, mm  # as programs do, before the first context
from rushlight.amp import lists
from rushlight.base.grafts import graft
from rushlight.nn.functional import linear, mse_loss
from rushlight.ops.table import functions

SQUARE = rl.ones(2, 2)


def half():
    return rl.autocast("cpu", dtype=rl.float16)


def test_functions_that_were_imported_before_ask():
    product, method = rl.Tensor.matmul, SQUARE.mm
    with half():
        found = [mm(SQUARE, SQUARE), linear(SQUARE, SQUARE), product(SQUARE, SQUARE), method(SQUARE), SQUARE @ SQUARE]
        assert {each.dtype for each in found} == {rl.float16}
        assert mse_loss(SQUARE.half(), SQUARE.half()).dtype is rl.float32
        assert cat([SQUARE, SQUARE.half()]).dtype is rl.float32
    assert {mm(SQUARE, SQUARE).dtype, linear(SQUARE, SQUARE).dtype} == {rl.float32}


def test_signatures_and_sources_stay():
    with half():
        assert list(inspect.signature(linear).parameters) == ["input", "weight", "bias"]
        assert list(inspect.signature(rl.matmul).parameters) == ["input", "other", "out"]
        assert "linear_rows" in inspect.getsource(linear)
        assert linear.__name__ == "linear" and linear.__doc__


def test_the_lists_name_functions_once():
    names = [*lists.LOWER, *lists.FLOAT32, *lists.WIDEST, *lists.APART]
    assert len(set(names)) == len(names)
    for name in names:
        assert callable(getattr(functions, name))


def test_a_graft_keeps_defaults_cells_and_the_object():
    scale = 3

    def scaled(x, y=2, *, z=1):
        return scale * x * y * z

    def plain(x, y=5):
        return x + y

    def doubling(original):
        return lambda args, kwargs: 2 * original(*args, **kwargs)

    held = scaled, plain
    for function in held:
        graft(function, doubling)
    assert (scaled(1), scaled(1, 3), scaled(1, z=4), plain(1), plain(1, y=1)) == (12, 18, 48, 12, 4)
    with pytest.raises(TypeError, match=r"scaled\(\)"):
        scaled()


def test_threads_that_enter_at_once_are_cast_for():
    found, start = [], threading.Barrier(4)

    def run():
        start.wait()
        with half():
            found.append(mm(SQUARE, SQUARE).dtype)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [rl.float16] * 4


def test_a_context_may_be_entered_within_itself():
    context = half()
    with context:
        with context:
            assert mm(SQUARE, SQUARE).dtype is rl.float16
        assert mm(SQUARE, SQUARE).dtype is rl.float16
    assert mm(SQUARE, SQUARE).dtype is rl.float32


def test_a_parameter_is_cast_once_for_each_dtype_and_let_go():
    weight = rl.nn.Parameter(SQUARE.clone())
    with half():
        with rl.autocast("cpu", dtype=rl.float16):
            mm(SQUARE, weight)
        assert len(rl.amp.state.state.cache) == 1
        mm(SQUARE, weight)
        assert len(rl.amp.state.state.cache) == 1
    assert not rl.amp.state.state.cache


def test_gradients_reach_the_parameter_in_its_dtype():
    layer = rl.nn.Linear(3, 2)
    with half():
        loss = mse_loss(layer(rl.ones(4, 3)), rl.zeros(4, 2))
    loss.backward()
    assert layer.weight.grad.dtype is layer.bias.grad.dtype is rl.float32


def test_subclasses_stay_subclasses():
    class Named(rl.Tensor):
        pass

    with half():
        found = mm(SQUARE.as_subclass(Named), SQUARE)
    assert type(found) is Named and found.dtype is rl.float16


def test_modules_load_without_autocast():
    import subprocess
    import sys

    code = "import sys, rushlight as t; t.nn.Linear(2, 2)(t.ones(1, 2)); print('rushlight.amp.casting' in sys.modules, t.is_autocast_enabled('cpu'))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.split()[1] == "False"

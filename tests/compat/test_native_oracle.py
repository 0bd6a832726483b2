"""Functions of ``torch`` below ``nn.functional``: results, gradients and errors as PyTorch's."""

import subprocess
import sys

import pytest

import rushlight

torch = pytest.importorskip("torch")

CALLS = [
    *(f"m.embedding_bag(w, i([0, 1, 3, 2, 2]), i([0, 2, 2]), False, {mode})" for mode in range(3)),
    "m.embedding_bag(w, i([0, 1, 3, 2, 2]), i([0, 2, 2]), mode=0, per_sample_weights=m.ones(5))",
    "m.embedding_bag(w, i([0, 1, 3]), i([0, 1, 3]), mode=1, include_last_offset=True)",
    *(f"m.segment_reduce(m.arange(6.0), '{r}', lengths=i([2, 0, 4]))" for r in ("sum", "mean", "max", "min", "prod")),
    *(f"m.segment_reduce(m.arange(6.0), '{r}', lengths=i([2, 0, 4]), initial=2)" for r in ("sum", "mean", "max", "min", "prod")),
    "m.segment_reduce(m.arange(6.0), 'sum', offsets=i([0, 2, 2, 6]))",
    "m.segment_reduce(w.view(2, 6), 'mean', lengths=i([[2, 4], [1, 5]]), axis=1)", "m.segment_reduce(w, 'max', lengths=i([1, 3]))",
    "m.segment_reduce(m.arange(6.0), 'foo', lengths=i([6]))", "m.segment_reduce(m.arange(6.0), 'sum')",
    "m.segment_reduce(m.arange(6), 'sum', lengths=i([6]))", "m.segment_reduce(m.arange(6.0), 'sum', lengths=i([-2, 8]))",
    "m.segment_reduce(m.arange(6.0), 'sum', lengths=i([2]))",
    "m.norm_except_dim(w, 2, 0)", "m.norm_except_dim(w, 1, 1)", "m.norm_except_dim(w, 2, -1)",
    "m.native_dropout(w, 0.5, True)", "m.native_dropout(w, 0.5, False)", "m.native_dropout(w, 0.25, True)",
    "m.affine_grid_generator(m.eye(2, 3)[None], [1, 1, 2, 2], False)", "m.grid_sampler(x, m.zeros(1, 1, 1, 2), 0, 0, False)",
    "m.grid_sampler_2d(x, m.full((1, 1, 1, 2), 0.9), 1, 1, True)", "m.grid_sampler_3d(x[None], m.zeros(1, 1, 1, 1, 3), 0, 2, False)",
    "m.convolution(x, x, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)",
    "m.convolution(x, x, None, [1, 1], [0, 0], [1, 1], True, [0, 0], 1)", "m.get_device(x)",
    "m.as_strided_(x.clone(), (2,), (1,))", "m.detach_(w * 2)", "m.dropout_(m.ones(4), 0.5, True)",
    "m.feature_dropout_(m.ones(2, 4), 0.5, True)", "m.alpha_dropout_(m.ones(4), 0.5, True)", "m.conv_tbc(m.ones(3, 1, 2), m.ones(2, 2, 2), m.ones(2), 0)",
    "m._convert_indices_from_coo_to_csr(i([0, 0, 2]), 4)", "m._convert_indices_from_coo_to_csr(i([1, 2]), 3, out_int32=True)",
    "m._convert_indices_from_coo_to_csr(i([], dtype=m.int64), 2)", "m._convert_indices_from_csr_to_coo(i([0, 2, 2, 3]), i([1, 2, 0]))",
    "m._convert_indices_from_csr_to_coo(i([0, 2, 2, 3]), i([1, 2, 0]), transpose=True, out_int32=True)",
    "m._softmax_backward_data(m.ones(2, 3), m.ones(2, 3) / 4, 1, m.float32)", "m._log_softmax_backward_data(m.ones(2, 3), m.zeros(2, 3), 1, m.float32)",
    "m.cond(w.sum() > 0, lambda x: x + 1, lambda x: x - 1, (w,))", "m.cond(False, lambda x: x + 1, lambda x: x - 1, (w,))",
]  # fmt: skip


def found(m, text):
    """What a call gives, with the gradient of its first result, or raises."""
    m.manual_seed(0)
    w = m.arange(12.0).reshape(4, 3).requires_grad_()
    names = {"m": m, "w": w, "x": m.arange(4.0).reshape(1, 1, 2, 2) + 1, "i": m.tensor}
    try:
        result = eval(text, names)
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]
    results = result if isinstance(result, tuple) else (result,)
    if hasattr(results[0], "requires_grad") and results[0].requires_grad:
        results[0].pow(2).sum().backward()
    values = [(str(each.dtype).split(".")[-1], each.tolist()) if hasattr(each, "tolist") else each for each in results]
    return str(values), None if w.grad is None else w.grad.flatten().tolist()


@pytest.mark.parametrize("text", CALLS)
def test_calls(text):
    ours, theirs = found(rushlight, text), found(torch, text)
    assert ours[0] == theirs[0] and ours[1] == (
        theirs[1] if theirs[1].__class__ is not list else pytest.approx(theirs[1])
    )


def test_loops_and_anomaly_mode():
    for m in (torch, rushlight):
        m.set_anomaly_enabled(True)
        assert m.is_anomaly_enabled()
        m.set_anomaly_enabled(False)
    assert rushlight.while_loop(lambda x: x.sum() < 3, lambda x: (x + 1,), (rushlight.zeros(1),))[0].item() == 3


def test_modes_see_what_is_loaded_within_them():
    program = (
        "import rushlight as torch\n"
        "class Told(torch.overrides.TorchFunctionMode):\n"
        "    def __torch_function__(self, func, types, args=(), kwargs=None):\n"
        "        print(func.__name__)\n"
        "        return func(*args, **(kwargs or {}))\n"
        "with Told():\n"
        "    torch.get_device(torch.ones(1))\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert told == ["ones", "get_device"]

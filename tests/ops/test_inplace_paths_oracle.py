"""In-place forms against PyTorch: small and large tensors, numbers, options, broadcast and shared operands, refusals."""

import numpy as np
import pytest

import rushlight as rl
from oracle_expressions import first_line

torch = pytest.importorskip("torch")
SIZES = (6, 30_000)  # below and above where kernels are asked
SPECIALS = (0.0, -0.0, float("nan"), float("inf"), -1.5, 2.5)

WRITES = {
    "add": lambda m, x, y: x.add_(y),
    "add number": lambda m, x, y: x.add_(2),
    "add alpha": lambda m, x, y: x.add_(y, alpha=-3),
    "add named": lambda m, x, y: x.add_(other=y, alpha=0.5),
    "add itself": lambda m, x, y: x.add_(x),
    "add 0-dim": lambda m, x, y: x.add_(y[0]),
    "add last": lambda m, x, y: x.view(3, -1).add_(y.view(3, -1)[1].clone()),
    "add column": lambda m, x, y: x.view(3, -1).add_(y.view(3, -1)[:, :1]),
    "add overlapping": lambda m, x, y: x[1:].add_(x[:-1]),
    "add too long": lambda m, x, y: x[:3].add_(y),
    "add to expanded": lambda m, x, y: x[:1].expand(9, 4000).add_(1),
    "add alpha to expanded": lambda m, x, y: x[:1].expand(9, 4000).add_(1, alpha=2),
    "add spaced": lambda m, x, y: x[::2].add_(y[1::2], alpha=2),
    "add double": lambda m, x, y: x.add_(y.double()),
    "sub": lambda m, x, y: x.sub_(y),
    "mul": lambda m, x, y: x.mul_(0.1),
    "mul bool": lambda m, x, y: x.mul_(True),
    "div": lambda m, x, y: x.div_(y),
    "div floor": lambda m, x, y: x.div_(3, rounding_mode="floor"),
    "pow": lambda m, x, y: x.pow_(2),
    "remainder": lambda m, x, y: x.remainder_(3),
    "clamp": lambda m, x, y: x.clamp_(0),
    "clamp both": lambda m, x, y: x.clamp_(min=-1, max=1.5),
    "clamp tensor": lambda m, x, y: x.clamp_(max=y),
    "clamp nothing": lambda m, x, y: x.clamp_(),
    "clamp_min": lambda m, x, y: x.clamp_min_(0.5),
    "relu": lambda m, x, y: x.relu_(),
    "functional relu": lambda m, x, y: m.nn.functional.relu(x, inplace=True),
    "leaky_relu": lambda m, x, y: m.nn.functional.leaky_relu_(x, 0.2),
    "neg": lambda m, x, y: x.neg_(),
    "sigmoid": lambda m, x, y: x.sigmoid_(),
    "lerp": lambda m, x, y: x.lerp_(y, 0.25),
    "lerp tensor": lambda m, x, y: x.lerp_(y, y),
    "addcmul": lambda m, x, y: x.addcmul_(y, y, value=2),
    "eq": lambda m, x, y: x.eq_(y),
    "logical_not": lambda m, x, y: x.logical_not_(),
    "zero": lambda m, x, y: x.zero_(),
    "fill": lambda m, x, y: x.fill_(1.5),
    "fill bool": lambda m, x, y: x.fill_(True),
    "fill complex": lambda m, x, y: x.fill_(1j),
    "fill 0-dim": lambda m, x, y: x.fill_(y[5]),
    "fill expanded": lambda m, x, y: x[:1].expand(9, 4000).fill_(1),
    "copy": lambda m, x, y: x.copy_(y),
    "copy broadcast": lambda m, x, y: x.copy_(y[1:2]),
    "copy backwards": lambda m, x, y: x.copy_(y.flip(0)),
    "copy itself": lambda m, x, y: x.copy_(x),
    "copy overlapping": lambda m, x, y: x[1:].copy_(x[:-1]),
    "copy double": lambda m, x, y: x.copy_(y.double()),
    "operator": lambda m, x, y: x.__iadd__(y),
    "add factor huge": lambda m, x, y: x.add_(y, alpha=1e39),
    "add factor nan": lambda m, x, y: x.add_(y, alpha=float("nan")),
    "add factor true": lambda m, x, y: x.add_(y, alpha=True),
    "sub factor of one": lambda m, x, y: x.sub_(y[:1], alpha=2),
    "add factor itself": lambda m, x, y: x.add_(x, alpha=2),
    "add factor overlapping": lambda m, x, y: x[1:].add_(x[:-1], alpha=2),
    "add factor too large": lambda m, x, y: x[:1].add_(y, alpha=2),
    "add factor by name": lambda m, x, y: x.add_(alpha=2, other=y),
    "addcdiv by name": lambda m, x, y: x.addcdiv_(tensor2=y, tensor1=y, value=3),
}
FLOATS_ONLY = ("clamp both", "clamp_min", "lerp", "lerp tensor")


def written(m, name, size, dtype, tracked):
    """What is in the tensor afterwards, its version, its gradient's node; or the error."""
    x = m.arange(size, dtype=m.float64).sub(2).div(3)
    y = m.arange(size, dtype=m.float64).mul(0.5).sub(1)
    x[: len(SPECIALS)] = m.tensor(SPECIALS, dtype=m.float64)
    if dtype.startswith("int"):
        x = x.nan_to_num(7, 100, -100)
    x, y = x.to(getattr(m, dtype)), y.to(getattr(m, dtype))
    leaf = None
    if tracked and x.is_floating_point():
        leaf = x.requires_grad_()
        x = x * 1
    if tracked == "off":
        with m.no_grad():
            found = WRITES[name](m, leaf.view(-1) if leaf is not None else x, y)
        return found.detach().clone(), found._version, found.requires_grad
    found = WRITES[name](m, x, y)
    outcome = x.detach().clone(), x._version, type(x.grad_fn).__name__, tuple(found.shape)
    if leaf is not None:
        x.nan_to_num().sum().backward()
        outcome += (leaf.grad,)
    return outcome


def outcome_of(m, *arguments):
    try:
        found = written(m, *arguments)
    except (RuntimeError, TypeError, OverflowError, ValueError) as error:
        return type(error).__name__, first_line(error)
    return [torch.from_numpy(part.numpy()) if hasattr(part, "numpy") else part for part in found]


@pytest.mark.parametrize("tracked", [False, True, "off"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("name", WRITES)
def test_written_as_pytorch_does(name, dtype, tracked):
    if dtype == "int64" and name in FLOATS_ONLY:
        pytest.skip("for floats")
    for size in SIZES:
        ours, theirs = outcome_of(rl, name, size, dtype, tracked), outcome_of(torch, name, size, dtype, tracked)
        assert len(ours) == len(theirs), (size, ours, theirs)
        for mine, wanted in zip(ours, theirs):
            if isinstance(wanted, torch.Tensor):
                torch.testing.assert_close(mine, wanted, equal_nan=True, rtol=1e-6, atol=1e-6)
            else:
                assert mine == wanted, size


def test_inference_tensors_are_not_written_outside():
    for size in SIZES:
        for name in ("add", "add alpha", "relu", "zero", "copy"):
            found = []
            for m in (rl, torch):
                with m.inference_mode():
                    x, y = m.ones(size), m.ones(size)
                try:
                    WRITES[name](m, x, y)
                    found.append(None)
                except RuntimeError as error:
                    found.append(first_line(error))
            assert found[0] == found[1], (name, size)


@pytest.mark.parametrize("operation", ["add_", "mul_", "sub_", "div_"])
def test_rows_and_columns_are_spread(operation):
    values = np.random.default_rng(3).standard_normal((200, 300)).astype(np.float32)
    others = [values[0], values[:, :1], values[:1], values[3, :1], values.T[:, None, :200], values[:, :7]]
    for target in (lambda x: x, lambda x: x.t(), lambda x: x[::2], lambda x: x[:, 1:201]):
        for other in others:
            found = []
            for m in (rl, torch):
                x = m.from_numpy(values.copy())
                try:
                    getattr(target(x), operation)(m.from_numpy(other.copy()))
                    found.append(x.numpy())
                except RuntimeError as error:
                    found.append(str(error).splitlines()[0])
            np.testing.assert_array_equal(*found)

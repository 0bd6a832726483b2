"""Random programs of views and in-place writes against PyTorch: values, versions, bases, gradients, errors."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight as rl
from oracle_expressions import first_line

torch = pytest.importorskip("torch")

VIEWS = [
    lambda m, t: t.t() if t.ndim <= 2 else t.transpose(0, -1),
    lambda m, t: t[0] if t.ndim else t[None],
    lambda m, t: t[..., 1:] if t.ndim else t.view(1),
    lambda m, t: t[::2] if t.ndim else t.expand(1),
    lambda m, t: t.view(-1),
    lambda m, t: t.unsqueeze(0),
    lambda m, t: t.squeeze(),
    lambda m, t: t.permute(*range(t.ndim - 1, -1, -1)),
    lambda m, t: t.narrow(0, 0, 1) if t.ndim else t,
    lambda m, t: t.diagonal() if t.ndim > 1 else t[...],
    lambda m, t: t.unfold(0, 1, 1) if t.ndim else t,
    lambda m, t: t.detach(),
    lambda m, t: t.unbind()[0] if t.ndim else t,
    lambda m, t: t.chunk(2)[0] if t.ndim else t,
    lambda m, t: t.as_strided((2,), (1,)) if t.numel() > 2 else t,
    lambda m, t: t.expand(2, *t.shape),
    lambda m, t: t.view_as(t),
    lambda m, t: t * 1,
]
WRITES = [
    lambda m, t, other: t.add_(1),
    lambda m, t, other: t.mul_(2),
    lambda m, t, other: t.zero_(),
    lambda m, t, other: t.copy_(other.sum()),
    lambda m, t, other: t.mul_(other.mean()),
    lambda m, t, other: t.fill_(3),
    lambda m, t, other: t.sigmoid_(),
    lambda m, t, other: t.unsqueeze(0).add_(2),
    lambda m, t, other: t.__setitem__((Ellipsis, 0) if t.ndim else Ellipsis, 7.0),
    lambda m, t, other: t.masked_fill_(t > 1, 0.5),
]
numbers = st.integers(0, 30)


def programs(*kinds):
    return st.lists(st.tuples(st.sampled_from(kinds), numbers, numbers, numbers), min_size=1, max_size=6)


def run(module, tracked, program):
    """Run a program on a pool of tensors and give all that can be seen of them."""
    leaf = module.arange(6.0).view(2, 3).div(4).detach()
    leaf.requires_grad_(tracked)
    pool = [leaf * 1 if tracked else leaf]
    log = []
    for kind, which, what, other in program:
        tensor = pool[which % len(pool)]
        try:
            with module.set_grad_enabled("no_grad" not in kind):
                if "view" in kind:
                    pool.append(VIEWS[what % len(VIEWS)](module, tensor))
                else:
                    WRITES[what % len(WRITES)](module, tensor, pool[other % len(pool)])
        except Exception as error:
            log.append((type(error).__name__, first_line(error)[:60]))
            if "write" in kind:
                break
    for tensor in pool:
        base = next((i for i, t in enumerate(pool) if t is tensor._base), None)
        name = None
        try:
            name = type(tensor.grad_fn).__name__, tensor.is_leaf, tensor.requires_grad
        except RuntimeError as error:
            name = first_line(error)[:60]
        log.append((tuple(tensor.shape), [round(v, 4) for v in tensor.detach().reshape(-1).tolist()], tensor._version))
        log.append((base, tensor._base is None, name))
    if tracked:
        try:
            total = sum((t * (i + 1)).sum() for i, t in enumerate(pool))
            total.backward()
            log.append([round(v, 4) for v in leaf.grad.reshape(-1).tolist()])
        except Exception as error:
            log.append((type(error).__name__, first_line(error)[:60]))
    return log


@settings(max_examples=250, deadline=None)
@given(programs("view", "view", "write", "no_grad write"))
def test_programs_with_gradients(program):
    assert run(rl, True, program) == run(torch, True, program)


@settings(max_examples=150, deadline=None)
@given(programs("view", "view", "write", "no_grad view", "no_grad write"))
def test_programs_without_gradients(program):
    assert run(rl, False, program) == run(torch, False, program)


@pytest.mark.parametrize("dtype", ["int64", "int8", "float32", "float64"])
@pytest.mark.parametrize("number", [3, -(2**63), 1.5, True])
def test_numbers_written_in_place(dtype, number):
    def found(m):
        try:
            x = m.arange(4).to(getattr(m, dtype))
            x[1:3].add_(number).mul_(2)
            return x.tolist(), x._version
        except (RuntimeError, OverflowError) as error:
            return type(error).__name__, first_line(error)

    assert found(rl) == found(torch)

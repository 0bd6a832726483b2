"""Gradients of complex numbers against PyTorch's, operation by operation: the same calls, the same gradients."""

import numpy as np
import pytest
from complex_names import RECORDS as COMPLEX
from gradient_inputs import IN_PLACE, OUTPUTS, Fixed, arguments_of, complex_numbers

import rushlight as rl
from rushlight.ops.table import TABLE, functions

torch = pytest.importorskip("torch")

# Records whose arguments are not those of PyTorch's function of that name, or whose complex gradient PyTorch refuses
# (silu, scatter_reduce) or gives to the wrong elements (as_strided_scatter).
OTHER = frozenset(("as_strided_scatter", "convolution", "index", "index_reduce_", "scatter_reduce_", "silu"))
PLACES = (torch, torch.linalg, torch.nn.functional, torch.special, torch.fft, torch.Tensor)


def counterpart(name):
    """PyTorch's function of the record ``name``, or None."""
    return next((getattr(place, name) for place in PLACES if hasattr(place, name)), None)


def in_torch(value):
    """The same value, with PyTorch's tensors and dtypes."""
    if isinstance(value, Fixed):
        return in_torch(value.value)
    if isinstance(value, rl.Tensor):
        return torch.from_numpy(value.detach().numpy().copy()).requires_grad_(value.requires_grad)
    if isinstance(value, rl.dtype):
        return getattr(torch, value.name)
    return type(value)(in_torch(each) for each in value) if isinstance(value, (tuple, list)) else value


def in_rushlight(value):
    """The same value without the `Fixed` around tensors that are not differentiated."""
    if isinstance(value, Fixed):
        return value.value
    return type(value)(in_rushlight(each) for each in value) if isinstance(value, (tuple, list)) else value


def tensors_in(value):
    if hasattr(value, "requires_grad"):
        return [value]
    return [each for item in value for each in tensors_in(item)] if isinstance(value, (tuple, list)) else []


def marked(value):
    """``value`` with every tensor to differentiate made a leaf that requires grad."""
    if isinstance(value, rl.Tensor):
        differentiable = value.is_floating_point() or value.is_complex()
        return value.detach().clone().requires_grad_() if differentiable else value
    return type(value)(marked(each) for each in value) if isinstance(value, (tuple, list)) else value


def results(library, name, function, arguments):
    """Values of a call and the gradients of a weighted sum of them, as arrays."""
    leaves = [x for x in tensors_in(arguments) if x.requires_grad]
    if name.endswith("_") or name in IN_PLACE:
        arguments = [arguments[0].clone(), *arguments[1:]]
    library.manual_seed(2)
    outputs = tensors_in(function(*arguments))[: OUTPUTS.get(name)]
    tracked = [output for output in outputs if output.requires_grad]
    starts = []
    for output in tracked:
        numbers = np.cos(np.arange(output.numel()) + 1.0).reshape(tuple(output.shape))
        numbers = numbers + 1j * np.sin(3 * numbers) if output.is_complex() else numbers
        starts.append(library.tensor(numbers, dtype=output.dtype))
    found = library.autograd.grad(tracked, leaves, starts, allow_unused=True)
    values = [output.detach().resolve_conj().resolve_neg().numpy() for output in outputs]
    return values, [None if each is None else each.resolve_conj().resolve_neg().numpy() for each in found]


SAME = sorted(name for name in COMPLEX - OTHER if counterpart(name) is not None)


@pytest.mark.parametrize("name", SAME)
def test_same_gradients(name):
    rl.manual_seed(1)
    with complex_numbers():
        arguments = marked(arguments_of(TABLE[name]))
    ours = results(rl, name, getattr(functions, name), in_rushlight(arguments))
    theirs = results(torch, name, counterpart(name), in_torch(arguments))
    for mine, other in zip(ours, theirs):
        assert len(mine) == len(other)
        for a, b in zip(mine, other):
            assert (a is None) == (b is None)
            if a is not None:
                assert a.dtype == b.dtype and a.shape == b.shape
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("base", [-1.5, [-1.0, 2.0]])
def test_complex_powers_of_negative_numbers(base):
    found = []
    for library in (rl, torch):
        exponent = library.tensor([0.5 + 0.25j, -1.0 + 2.0j], dtype=library.complex128, requires_grad=True)
        number = library.tensor(base, dtype=library.float64, requires_grad=True) if isinstance(base, list) else base
        leaves = [exponent] + ([number] if isinstance(base, list) else [])
        start = library.tensor([1.0 - 1.0j, 2.0], dtype=library.complex128)
        found.append(
            [g.resolve_conj().numpy() for g in library.autograd.grad(library.pow(number, exponent), leaves, start)]
        )
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


REAL = {
    "nan_to_num": lambda t, z, r: z.nan_to_num(),
    "nan_to_num_": lambda t, z, r: (z * 1).nan_to_num_(),
    "select_scatter": lambda t, z, r: z.select_scatter(r[0], 0, 0),
    "select_scatter of real": lambda t, z, r: r.select_scatter(z[0], 0, 0),
    "select_scatter, tracked src": lambda t, z, r: z.detach().select_scatter(r[0], 0, 0),
    "slice_scatter": lambda t, z, r: z.slice_scatter(r[:1], 0, 0, 1),
    "diagonal_scatter": lambda t, z, r: z.diagonal_scatter(r[0]),
    "mode": lambda t, z, r: z[0, 0].mode(),
    "mode of none": lambda t, z, r: z[:, :0].mode(0),
    "kthvalue": lambda t, z, r: z[0, 0].kthvalue(1),
    "kthvalue of several": lambda t, z, r: z.kthvalue(1),
    "kthvalue of none": lambda t, z, r: z[:0].kthvalue(1, 0),
    "cummax": lambda t, z, r: z[0, 0].cummax(0),
    "cummin of none": lambda t, z, r: z[:0].cummin(0),
    "soft_margin_loss": lambda t, z, r: t.nn.functional.soft_margin_loss(z, r.detach()),
    "binary_cross_entropy_with_logits": lambda t, z, r: t.nn.functional.binary_cross_entropy_with_logits(r, z.detach()),
    "bilinear": lambda t, z, r: t.nn.functional.bilinear(z, z, z[None].detach()),
    "bilinear, tracked bias": lambda t, z, r: t.nn.functional.bilinear(
        z.detach(), z.detach(), z[None].detach(), z[0, :1]
    ),
    "adaptive_avg_pool1d of none": lambda t, z, r: t.nn.functional.adaptive_avg_pool1d(z[None, :, :, None][:0, 0], 2),
    "adaptive_avg_pool1d": lambda t, z, r: t.nn.functional.adaptive_avg_pool1d(z, 1),
}


@pytest.mark.parametrize("name", REAL)
def test_derivatives_of_real_numbers_alone(name):
    """What PyTorch computes of complex numbers, and refuses where they are tracked: at each call, the first and later ones."""
    told = []
    for library in (rl, torch):
        z = library.ones(2, 2, dtype=library.complex64, requires_grad=True)
        for operand in (z, z.detach(), z, z):
            try:
                found = REAL[name](library, operand, library.ones(2, 2, requires_grad=True))
                told.append(
                    [getattr(each.grad_fn, "name", str)() for each in (found if isinstance(found, tuple) else (found,))]
                )
            except (RuntimeError, IndexError) as error:
                told.append((type(error).__name__, str(error).splitlines()[0]))
    assert told[:4] == told[4:]

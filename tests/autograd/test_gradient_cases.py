"""Derivatives, first and second, of calls that the plain samples of the table do not reach."""

import pytest

import rushlight as rl

F = rl.nn.functional


def t(*shape, dtype=rl.float64):
    return (rl.rand(shape, dtype=rl.float64) + 0.2).to(dtype)


CASES = {
    "transposed convolution with output padding": lambda: (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, output_padding=1),
        (t(1, 1, 2, 2), t(1, 1, 2, 2)),
    ),
    "group norm of nothing": lambda: (lambda x, w: F.group_norm(x, 2, w), (t(0, 4, 2), t(4))),
    "cumulative product through a zero": lambda: (
        lambda x: x.cumprod(0),
        (rl.tensor([2.0, 0.0, 3.0], dtype=rl.float64),),
    ),
    "complex convolution": lambda: (
        lambda x, w: F.conv1d(x, w, padding=1),
        (rl.complex(t(1, 1, 3), t(1, 1, 3)), rl.complex(t(1, 1, 2), t(1, 1, 2))),
    ),
    "complex ldexp": lambda: (rl.ldexp, (rl.complex(t(2), t(2)), rl.complex(t(2), t(2)))),
    "two-sided istft": lambda: (lambda x: rl.istft(x, 4, window=rl.ones(4)), (rl.complex(t(4, 3), t(4, 3)),)),
    "largest of each bag": lambda: (
        lambda w: F.embedding_bag(rl.tensor([0, 2, 1, 0]), w, rl.tensor([0, 2, 2]), mode="max"),
        (t(3, 2),),
    ),
    "bags with factors": lambda: (
        lambda w, f: F.embedding_bag(rl.tensor([[0, 2], [1, 1]]), w, mode="sum", per_sample_weights=f),
        (t(3, 2), t(2, 2)),
    ),
    "resized channels last": lambda: (
        lambda x: F.interpolate(x.contiguous(memory_format=rl.channels_last), (3, 3), mode="bilinear"),
        (t(1, 2, 2, 2),),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_derivatives(case):
    rl.manual_seed(0)
    function, inputs = CASES[case]()
    inputs = [x.requires_grad_() for x in inputs]
    assert rl.autograd.gradcheck(function, inputs)
    assert rl.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize("function", [rl.special.i1, rl.special.i1e])
def test_second_derivatives_where_the_formula_divides_by_zero(function):
    x = rl.zeros(1, dtype=rl.float64, requires_grad=True)
    (first,) = rl.autograd.grad(function(x), x, create_graph=True)
    (second,) = rl.autograd.grad(first, x)
    assert not second.isnan().any()

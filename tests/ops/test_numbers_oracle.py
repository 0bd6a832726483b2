"""Python numbers where they meet a dtype: what is refused, in which words, and what is made of the others, as in PyTorch."""

import itertools
import operator
import warnings

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

INF, NAN = float("inf"), float("nan")
REALS = [2.5, -3, 0, True, INF, -INF, NAN, 300, 70000, -70000, 65504.0, 65519.0, 1e39, -1e39, 3.395e38, 3.4028234e38, 3.5e38,
         1e300]  # fmt: skip
COMPLEX = [1 + 2j, 3 + 0j, complex(1e39, 0), complex(1e300, 1)]
HUGE = [2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 2**70, -(2**70), 2**1030]
DTYPES = [
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "int64",
    "int32",
    "int8",
    "uint8",
    "bool",
    "complex64",
    "complex128",
]


def F(m):
    return m.nn.functional


def in_place(name):
    return lambda m, x, v: getattr(x.clone(), name)(v)


WRITES = {
    "fill_": lambda m, x, v: x.clone().fill_(v),
    "fill": lambda m, x, v: m.fill(x, v),
    "full": lambda m, x, v: m.full((2,), v, dtype=x.dtype),
    "full of one": lambda m, x, v: m.full((1,), v, dtype=x.dtype),
    "full without dtype": lambda m, x, v: m.full((2,), v),
    "full_like": lambda m, x, v: m.full_like(x, v),
    "new_full": lambda m, x, v: x.new_full((2,), v),
    "scalar_tensor": lambda m, x, v: m.scalar_tensor(v, dtype=x.dtype),
    "constant_": lambda m, x, v: m.nn.init.constant_(x.clone(), v),
    "fill_diagonal_": lambda m, x, v: x[:3].diag().clone().fill_diagonal_(v),
    "masked_fill": lambda m, x, v: x.masked_fill(x == 1, v),
    "masked_fill_": lambda m, x, v: x.clone().masked_fill_(x == 1, v),
    "index_fill": lambda m, x, v: x.index_fill(0, m.tensor([1]), v),
    "index_fill_": lambda m, x, v: x.clone().index_fill_(0, m.tensor([1]), v),
    "scatter": lambda m, x, v: x.scatter(0, m.tensor([1]), v),
    "scatter_": lambda m, x, v: x.clone().scatter_(0, m.tensor([1]), v),
    "scatter add": lambda m, x, v: x.scatter(0, m.tensor([1]), v, reduce="add"),
    "setitem": lambda m, x, v: x.__setitem__(0, v),
    "setitem everywhere": lambda m, x, v: x.__setitem__(slice(None), v),
    "setitem at places": lambda m, x, v: x.__setitem__(m.tensor([0]), v),
    "setitem by mask": lambda m, x, v: x.__setitem__(x == 1, v),
    "tensor": lambda m, x, v: m.tensor(v),
    "tensor of dtype": lambda m, x, v: m.tensor(v, dtype=x.dtype),
    "tensor of list": lambda m, x, v: m.tensor([v, v], dtype=x.dtype),
    "as_tensor": lambda m, x, v: m.as_tensor(v, dtype=x.dtype),
    "new_tensor": lambda m, x, v: x.new_tensor(v),
    "where": lambda m, x, v: m.where(x == 1, v, x),
    "where not": lambda m, x, v: m.where(x == 1, x, v),
    "pad": lambda m, x, v: F(m).pad(x, (1, 1), value=v),
    "constant_pad_nd": lambda m, x, v: m.constant_pad_nd(x, (1, 1), v),
}
FORMULAS = {
    "threshold": lambda m, x, v: F(m).threshold(x, v, 0.5),
    "threshold, value": lambda m, x, v: F(m).threshold(x, 1.0, v),
    "threshold_": lambda m, x, v: F(m).threshold_(x.clone(), v, v),
    "lerp": lambda m, x, v: x.lerp(x, v),
    "lerp_": lambda m, x, v: x.clone().lerp_(x, v),
    "addcmul": lambda m, x, v: m.addcmul(x, x, x, value=v),
    "addcmul_": lambda m, x, v: x.clone().addcmul_(x, x, value=v),
    "addcdiv": lambda m, x, v: m.addcdiv(x, x, x, value=v),
    "elu": lambda m, x, v: F(m).elu(x, v),
    "elu_": lambda m, x, v: F(m).elu_(x.clone(), v),
    "celu": lambda m, x, v: F(m).celu(x, v),
    "leaky_relu": lambda m, x, v: F(m).leaky_relu(x, v),
    "leaky_relu_": lambda m, x, v: F(m).leaky_relu_(x.clone(), v),
    "softplus": lambda m, x, v: F(m).softplus(-x, v).round() if x.dtype.is_floating_point else F(m).softplus(x, v),
    "softshrink": lambda m, x, v: F(m).softshrink(x, v),
    "hardshrink": lambda m, x, v: F(m).hardshrink(x, v),
    "hardtanh": lambda m, x, v: F(m).hardtanh(x, -1.0, v),
    "hardtanh, lower": lambda m, x, v: F(m).hardtanh(x, v, 1e4),
    "hardtanh_": lambda m, x, v: F(m).hardtanh_(x.clone(), -1.0, v),
    "clamp, upper": lambda m, x, v: x.clamp(max=v) if x.dtype is not m.bool else x,
    "clamp": lambda m, x, v: x.clamp(0, v),
    "clamp_min": lambda m, x, v: x.clamp_min(v) if v is not True else x,
    "clamp_max_": lambda m, x, v: x.clone().clamp_max_(v) if v is not True else x,
    "logit": lambda m, x, v: m.logit(x, v),
    "nan_to_num": lambda m, x, v: m.nan_to_num(x / 0 if x.is_floating_point() else x, posinf=v),
    "index_add": lambda m, x, v: x.index_add(0, m.tensor([1]), x[:1], alpha=v),
}
SUMS = {
    "add": lambda m, x, v: m.add(x, x, alpha=v),
    "add_": lambda m, x, v: x.clone().add_(x, alpha=v),
    "addmm, beta": lambda m, x, v: m.addmm(x.diag(), x.diag(), x.diag(), beta=v),
    "addmv": lambda m, x, v: m.addmv(x, x.diag(), x, alpha=v),
    "addmv, beta": lambda m, x, v: m.addmv(x, x.diag(), x, beta=v),
    "addr, beta": lambda m, x, v: m.addr(x.diag(), x, x, beta=v),
    "baddbmm": lambda m, x, v: m.baddbmm(x.diag()[None], x.diag()[None], x.diag()[None], alpha=v),
    "baddbmm, beta": lambda m, x, v: m.baddbmm(x.diag()[None], x.diag()[None], x.diag()[None], beta=v),
    "addbmm, beta": lambda m, x, v: m.addbmm(x.diag(), x.diag()[None], x.diag()[None], beta=v),
    "isin": lambda m, x, v: m.isin(x, v),
    "searchsorted": lambda m, x, v: m.searchsorted(x, v),
    "bucketize": lambda m, x, v: m.bucketize(v, x),
    "dist": lambda m, x, v: m.dist(x * 0, x, v).float(),
    "huber_loss": lambda m, x, v: F(m).huber_loss(x, x * 3, delta=v) if x.is_floating_point() else x,
    "rrelu": lambda m, x, v: F(m).rrelu(x, v, v) if v not in (2**63, 2**64 - 1) else x,
    "renorm": lambda m, x, v: x.diag().renorm(2, 0, v),
    "order of norm": lambda m, x, v: x.norm(v).float(),
}
OPERATORS = {
    f"{side}{name}": (lambda f: lambda m, x, v: f(x, v))(function)
    if not side
    else (lambda f: lambda m, x, v: f(v, x))(function)
    for name in ("mul", "truediv", "mod", "floordiv", "eq", "lt", "ge", "and_", "or_", "lshift")
    for function in [getattr(operator, name)]
    for side in ("", "r")
} | {
    "pow": lambda m, x, v: x**v,
    "pow_": lambda m, x, v: x.clone().pow_(v),
    "float_power": lambda m, x, v: m.float_power(x, v),
    "copysign": lambda m, x, v: m.copysign(x, v),
    **{name: in_place(name) for name in ("mul_", "div_", "eq_", "gt_", "bitwise_xor_", "bitwise_and_")},
    "fmod_": lambda m, x, v: x.clone().fmod_(v) if x.dtype is not m.bool else x,
}
RANGES = {
    "arange": lambda m, x, v: m.arange(v, v, dtype=x.dtype),
    "arange without dtype": lambda m, x, v: m.arange(v, v),
    "range": lambda m, x, v: m.range(v, v, dtype=x.dtype),
    "linspace": lambda m, x, v: m.linspace(v, v, 3, dtype=x.dtype),
    "linspace of one": lambda m, x, v: m.linspace(v, 0, 1, dtype=x.dtype),
    "logspace": lambda m, x, v: m.logspace(0, v, 3, dtype=x.dtype) if not x.is_complex() else x,
    "add a number": lambda m, x, v: x + v,
    "subtract from a number": lambda m, x, v: m.rsub(x, v),
}
CALLS = {**WRITES, **FORMULAS, **SUMS, **OPERATORS, **RANGES}
# Here PyTorch multiplies complex numbers by 1 + 0j on their way, which makes nan of infinities.
FINITE_ONLY = {"add a number", "subtract from a number", "linspace", "logspace"}


def outcome(module, call, dtype, size, number):
    x = module.ones(size, dtype=getattr(module, dtype))
    try:
        with warnings.catch_warnings():
            if module is torch:
                warnings.simplefilter("ignore")
            found = call(module, x, number)
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0]
    found = x if found is None else found
    return str(found.dtype).partition(".")[2], str((found[:2] if found.ndim else found).tolist())


def lacks(theirs):
    """Whether an outcome is about complex numbers of half precision, which Rushlight does not have."""
    return any(name in part for name in ("ComplexHalf", "complex32", "c10::complex<c10::Half>") for part in theirs)


def numbers_for(name):
    if name in FINITE_ONLY:
        return [v for v in (*REALS, *HUGE) if isinstance(v, int) or abs(v) < 1e38]
    return [*REALS, *COMPLEX, *HUGE]


@pytest.mark.parametrize("name", CALLS)
def test_same_as_pytorch(name):
    for dtype in DTYPES:
        for number in numbers_for(name):
            theirs = outcome(torch, CALLS[name], dtype, 3, number)
            if not lacks(theirs):
                assert outcome(rl, CALLS[name], dtype, 3, number) == theirs, (dtype, number)


@pytest.mark.parametrize("name", [*WRITES, *FORMULAS, *OPERATORS])
def test_large_tensors(name):
    for dtype in ("float16", "float32", "int32", "uint8"):
        for number in (70000, -1e39, INF, 2**63, 2**70, -(2**70)):
            theirs = outcome(torch, CALLS[name], dtype, 20_000, number)
            assert outcome(rl, CALLS[name], dtype, 20_000, number) == theirs, (dtype, number)


def assign_gradient(m, kind):
    x = m.ones(2).requires_grad_()
    x.grad = m.ones(2, dtype=kind)


NAMING = {
    "mm": lambda m, kind: m.ones(2, 2).mm(m.ones(2, 2, dtype=kind)),
    "mm, out": lambda m, kind: m.mm(m.ones(2, 2), m.ones(2, 2), out=m.ones(2, 2, dtype=kind)),
    "multi_dot, out": lambda m, kind: m.linalg.multi_dot([m.ones(2, 2), m.ones(2, 2)], out=m.ones(2, 2, dtype=kind)),
    "mask": lambda m, kind: m.ones(2).masked_fill(m.ones(2, dtype=kind), 1),
    "lerp": lambda m, kind: m.ones(2).lerp(m.ones(2, dtype=kind), 0.5),
    "attention mask": lambda m, kind: F(m).scaled_dot_product_attention(
        *[m.ones(1, 2, 2, 2)] * 3, attn_mask=m.ones(2, 2, dtype=kind)
    ),
    "set_": lambda m, kind: m.ones(2).set_(m.ones(2, dtype=kind)),
    "gradient": assign_gradient,
    "clamp_": lambda m, kind: m.ones(2, dtype=kind).clamp_(2.5),
    "fill_": lambda m, kind: m.ones(3, dtype=kind).fill_(1e39),
    "tensor": lambda m, kind: m.tensor(1e39, dtype=kind),
    "int": lambda m, kind: int(m.ones((), dtype=kind) * 1j),
}


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")  # PyTorch says so once in a process
@pytest.mark.parametrize("name", NAMING)
def test_names_of_types(name):
    """Messages call a dtype by its C++ name, by that of one number, or by its own."""
    for dtype in (*DTYPES, "int16", "uint16", "uint32", "uint64"):
        outcomes = []
        for m in (torch, rl):
            try:
                found = NAMING[name](m, getattr(m, dtype))
                outcomes.append(None if found is None else str(found.dtype).partition(".")[2])
            except (RuntimeError, TypeError, NotImplementedError) as error:
                outcomes.append(f"{type(error).__name__}: {error}".partition("\n")[0])
        theirs, ours = outcomes
        if not lacks([theirs or ""]):
            assert ours == theirs, dtype


def test_small_calls_of_equal_numbers():
    """A float and an int that are equal, one of them beyond 64 bits: only the int is refused, whichever came first."""
    x = rl.ones(2)
    assert (x * 2.0**70).tolist() == [2.0**70] * 2
    for call in (lambda: x * 2**70, lambda: x > 2**70, lambda: x.mul_(2**70), lambda: x**2**70):
        with pytest.raises(OverflowError, match="int too big to convert"):
            call()
    assert (x * 2.0**70).tolist() == [2.0**70] * 2


def promoted(m, shapes, names, number):
    """The dtype of two tensors together, or of one and a number, or what refuses it."""
    first, second = (m.ones(shape, dtype=getattr(m, name)) for shape, name in zip(shapes, names))
    try:
        return str(m.result_type(first, second if number is None else number)).partition(".")[2]
    except RuntimeError as error:
        return str(error).partition("\n")[0]


@pytest.mark.parametrize("shapes", [((2,), (2,)), ((2,), ()), ((), (2,))])
def test_promotion_of_every_pair(shapes):
    names = [*DTYPES, "int16", "uint16", "uint32", "uint64"]
    for pair in itertools.product(names, names):
        theirs = promoted(torch, shapes, pair, None)
        assert promoted(rl, shapes, pair, None) == theirs or lacks([theirs]), pair
    for pair, number in itertools.product(zip(names, names), (True, 2, 2.5, 2**63)):
        assert promoted(rl, shapes, pair, number) == promoted(torch, shapes, pair, number), (pair, number)

"""``out=``: what is written, resized and refused, and which dtypes an output may have, against PyTorch."""

import warnings

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

SETUP = """
x = T.arange(12, dtype=T.float32).reshape(3, 4) + 1
v = T.arange(4, dtype=T.float32) + 1
s = x[:3, :3] @ x[:3, :3].mT + T.eye(3)
i = T.arange(12).reshape(3, 4)
p = T.tensor([2, 0])
w = T.ones(1)
m = T.tensor([True, False, True])
c = T.tensor([3 + 4j, 1j])
e = T.empty(0)
d = T.empty(0, dtype=T.float64)
l = T.empty(0, dtype=T.int64)
n = T.empty(0, dtype=T.int32)
b = T.empty(0, dtype=T.bool)
"""
CALLS = (
    """
T.hstack((x, x), out=e)|T.vstack((x, x), out=d)|T.dstack((x, x), out=n)|T.column_stack((v, v), out=e)
T.outer(v, v, out=e)|T.vdot(v, v, out=d)|T.matmul(x, v, out=e)|T.addmv(x[:, 0], x, v, out=e)
T.addr(x, x[:, 0], v, out=d)|T.addbmm(s, s[None], s[None], out=e)|T.nanmean(x, 0, out=e)|T.prod(x, 0, out=d)
T.prod(i, 0, out=n)|T.prod(i, 0, dtype=T.int64, out=n)|T.sum(i, 0, out=e)|T.sum(i, 0, dtype=T.int64, out=n)
T.cumsum(i, 0, out=e)|T.cumsum(i, 0, dtype=T.int64, out=n)|T.mean(x, 0, out=d)|T.aminmax(x, dim=0, out=(e, T.empty(0)))
T.take_along_dim(x, p[None], 1, out=e)|T.scatter(x, 0, p[None], x, out=e)|T.cummax(x, 1, out=(e, l))|T.diff(x, out=d)
T.diag(x, out=e)|T.diag(x, out=d)|T.msort(x, out=e)|T.sort(x, out=(e, l))|T.sort(x, out=(d, l))|T.topk(x, 2, out=(e, n))
T.isin(x, v, out=b)|T.isin(x, v, out=e)|T.bucketize(x, v, out=l)|T.std(x, 0, out=e)|T.var(x, 0, out=d)|T.std(x, 0, out=l)
T.max(x, 0, out=(e, l))|T.max(x, 0, out=(d, l))|T.min(x, 0, out=(e, d))|T.median(x, 0, out=(e, l))|T.nonzero(x, out=l)
T.nonzero(x, out=e)|T.all(x > 1, 0, out=b)|T.all(x > 1, 0, out=e)|T.any(x > 1, 0, out=T.empty(0, dtype=T.uint8))
T.add(x, 1, out=d)|T.add(x, 1, out=n)|T.abs(x, out=d)|T.where(x > 2, x, x, out=d)|T.gather(x, 0, p[None], out=d)
T.index_select(x, 0, p, out=d)|T.index_select(x, 0, p, out=e)|T.cat((x, x), out=n)|T.stack((x, x), out=d)
T.mm(s, s, out=d)|T.linalg.inv(s, out=e)|T.linalg.inv(s, out=d)|T.linalg.norm(x, out=e)|T.linalg.norm(x, axis=1)
T.linalg.eigh(s, out=(e, T.empty(0)))|T.linalg.qr(s, out=(e, d))|T.linalg.multi_dot([s, s], out=d)
T.zeros(2, out=n)|T.zeros(2, dtype=T.float64, out=e)|T.full((2,), 2.5, out=n)|T.eye(2, out=n)|T.arange(3, out=e)
T.linspace(0, 3, 4, out=T.zeros(2, 3)[:, 1:])|T.range(0, 3, out=T.zeros(2, 3)[:, 1:])|T.arange(4, out=T.zeros(2, 3)[:, 1:])
T.frexp(x, out=(e, n))|T.frexp(x, out=(d, n))|T.hash_tensor(i).item()|T.hash_tensor(i, 1, keepdim=True).tolist()
T.add(x, 1, out=T.zeros(1).expand(3, 4))|T.arange(4, out=T.zeros(1).expand(4))|T.add(x[0], 1, out=x.view(-1)[1:5])
T.add(x[0], 1, out=x[0])|T.cumsum(x[0], 0, out=x.view(-1)[1:5])|T.exp(x.requires_grad_(), out=e)
T.nuclear_norm(s)|T.frobenius_norm(x, (0, 1), out=e)
T.fft.fft(v, out=T.empty(0, dtype=T.complex64))|T.sum(x, axis=0)|T.max(x, axis=0)|T.max(x, axis=0, keepdims=True)|T.std(x, axis=0)
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
# An operand is the tensor that is written, or holds its memory: elementwise operations refuse to make it larger, others to read it.
OPERANDS = (
    """
T.add(w, x, out=w)|T.mul(x, w, out=w)|T.mul(x, w, out=x)|T.eq(w, x, out=w)|T.pow(w, x, out=w)
T.where(x > 2, w, x, out=w)|T.clamp(w, min=x, out=w)|T.lerp(w, x, x, out=w)|T.addcmul(w, x, x, out=w)|T.bitwise_and(w, x, out=w)
T.maximum(c, c, out=c)|T.atan2(l[:1], i, out=l[:1])|w.add_(x)|w.bitwise_and_(x)|T.exp(w, out=w)|T.add(w, 1, out=w)
T.max(w, x, out=w)|T.min(x, w, out=x)|T.max(x, x, out=i)|T.min(s, s.t(), out=s.t())|T.max(x, other=x, out=e)|T.kron(v, v, out=v)
T.outer(v, v, out=v)|T.outer(x[0], v, out=x)|T.addr(w, v, v, out=v)|T.inner(v, v, out=v)|T.ldexp(x, v, out=v)|T.ldexp(w, x, out=w)
T.ldexp(v, v, out=v)|T.trace(s, out=w)|T.rsub(v, v, out=v)|T.relu(v, out=v)|T.flip(v, (0,), out=v)|T.addmm(v[:3], s, s, out=w)
T.gather(x, 0, i % 3, out=x)|T.gather(l.resize_(2), 0, l.zero_(), out=l)|T.index_select(x, 0, p, out=x)|T.take(x, i, out=x)
T.take(i.clone(), i, out=i)|T.masked_select(v, v > 0, out=v)|T.masked_select(m, m, out=m)|T.take_along_dim(x, i % 3, 0, out=x)
T.cat((x, x[:0]), out=x)|T.cat((x[:2], x[2:]), out=x)|T.stack((x,), out=x)|T.hstack((x, x), out=x)|T.vstack((x, x), out=x)
T.dstack((x, x), out=x)|T.column_stack((x, x), out=x)|T.scatter(x, 0, i % 3, x, out=x)|T.scatter(x, 0, i % 3, x.clone(), out=x)
T.scatter(x, 0, i % 3, 1.0, out=x)|T.scatter_add(x, 0, i % 3, x, out=x)|T.index_add(x, 0, p, x[:2], out=x)
T.index_copy(x, 0, T.arange(3), x, out=x)|T.scatter_reduce(x, 0, i % 3, x, "sum", out=x)|T.median(x, 0, out=(x, i))
T.nanmedian(x, 0, out=(x, i))|T.kthvalue(x, 1, 0, out=(x, i))|T.mode(x, 0, out=(x, l))
T.sort(x, 0, out=(x, l))|T.nonzero(i, out=i)|T.cross(v[:3], v[:3], out=v[:3])|T.linalg.cross(s, s, out=s)
T.abs(c, out=e)|T.abs(c, out=d)|T.abs(c, out=c)|T.abs(c, out=n)|T.abs(c, out=c.to(T.complex128))|T.abs(x, out=c)|c.abs_()|T.abs_(c)
T.isnan(x, out=b)|T.isinf(x, out=None)|T.isfinite(x, out=b)|T.isreal(x, out=b)|T.isposinf(x, out=b)
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


def answer(module, call):
    names = {"T": module}
    exec(SETUP, names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(call, names)
        except (RuntimeError, TypeError) as error:
            return "refused", str(error).split("\n")[0]
    return shown(found), [shown(names[out]) for out in "ednlb"], shown(names["x"])


def shown(value):
    if isinstance(value, (tuple, list)) and value and hasattr(value[0], "dtype"):
        return [shown(item) for item in value]
    if not hasattr(value, "dtype"):
        return value
    return str(value.dtype), tuple(value.shape), value.tolist()


def alike(found, expected):
    """Whether two answers are the same but for the last digits of numbers."""
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(alike, found, expected))
    if isinstance(expected, (float, complex)):
        return found == pytest.approx(expected, rel=1e-4, abs=1e-4, nan_ok=True)
    return found == expected


@pytest.mark.parametrize("call", CALLS + OPERANDS)
def test_same_as_pytorch(call):
    found, expected = answer(rl, call), answer(torch, call)
    assert alike(found, expected), (found, expected)


def test_a_resized_output_warns():
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        rl.hstack((rl.ones(2), rl.ones(2)), out=rl.empty(3))

"""Lazy conjugates and negatives against PyTorch: every operation that takes complex numbers, on views with the bits and on views of those."""

import copy
import io
import os
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent.parent))
from opinfo_calls import Call, Skip, carried_tensor, first_line, known_operations, sampled_calls  # noqa: E402

# How an operand becomes one with bits: of the memory of a base, with the same numbers for all (or nearly: only shapes count).
FORMS = {
    "plain": lambda t: t.clone(),
    "conj": lambda t: t.conj(),
    "part of conj": lambda t: t.unsqueeze(0).expand(2, *t.shape).conj()[1],
    "adjoint": lambda t: t.mH.mT if t.dim() > 1 else t.conj(),
    "neg": lambda t: t._neg_view(),
    "both": lambda t: t._neg_view().conj(),
    "first": lambda t: t.conj(),  # only the first operand
}
# Results whose bit is a matter of how PyTorch computes: a solution from the right, a product of two conjugates, a copy.
OWN_BITS = frozenset(("linalg.solve", "linalg.solve_ex", "linalg.lu_solve", "vdot", "dot", "linalg.tensorsolve", "inner", "linalg.vecdot", "matmul",
                      "__rmatmul__", "repeat_interleave", "sum_to_size", "ormqr"))  # fmt: skip


def lazily(call, module, form, tracked):
    """(leaves, arguments): the call's arguments, those of complex numbers lazy views of the leaves."""
    leaves, made = [], {}

    def turned(value):
        if isinstance(value, torch.Tensor):
            if id(value) not in made:
                tensor = carried_tensor(value, module)
                if value.is_complex():
                    if tracked:
                        tensor.requires_grad_()
                    leaves.append(tensor)
                    tensor = FORMS["plain" if form == "first" and len(leaves) > 1 else form](tensor)
                made[id(value)] = tensor
            return made[id(value)]
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            return type(value)([turned(each) for each in value])
        if isinstance(value, dict):
            return {key: turned(each) for key, each in value.items()}
        return Call("", (value,), {}).arguments(module)[0][0]

    return leaves, turned(call.args), turned(call.kwargs)


def tensors_in(value, module):
    if isinstance(value, module.Tensor):
        return [value]
    return [each for item in value for each in tensors_in(item, module)] if isinstance(value, (list, tuple)) else []


def told(tensor):
    """The numbers of a tensor, as an array."""
    plain = tensor.detach().resolve_conj().resolve_neg()
    return plain.float().numpy() if plain.dtype in (torch.bfloat16, rl.bfloat16) else plain.numpy()


def outcome(call, module, form, tracked):
    """What a call gives: bits, sharing and numbers of its results, gradients; or the kind of error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        leaves, args, kwargs = lazily(call, module, form, tracked)
        module.manual_seed(3)
        try:
            found = tensors_in(call.function(module)(*args, **kwargs), module)
            gradients = gradients_of(found, leaves, module) if tracked else []
        except Exception as error:
            return type(error).__name__.strip("_"), first_line(error)
        addresses = {leaf.untyped_storage().data_ptr() for leaf in leaves}
        bits = [(f.is_conj(), f.is_neg(), f.numel() and f.untyped_storage().data_ptr() in addresses) for f in found]
        return bits, [(str(f.dtype).split(".")[-1], told(f)) for f in found], gradients


def gradients_of(found, leaves, module):
    outputs = [f for f in found if f.requires_grad]
    if not outputs:
        return []
    total = sum((f.abs() if f.is_complex() else f).sum() for f in outputs)
    return [None if g is None else told(g) for g in module.autograd.grad(total, leaves, allow_unused=True)]


def close(ours, theirs):
    return (ours is None) == (theirs is None) and (
        ours is None
        or (
            ours.shape == theirs.shape
            and ours.dtype == theirs.dtype
            and np.allclose(ours, theirs, 1e-6, 1e-8, equal_nan=True)
        )
    )


def difference(call, form, tracked):
    """What differs between the libraries in a call with lazy operands; None where nothing does."""
    try:
        theirs, ours = (outcome(call, module, form, tracked) for module in (torch, rl))
    except Skip:
        return None
    if len(theirs) == 2 or len(ours) == 2:
        return None if ours[0] == theirs[0] else f"{theirs[:2]} != {ours[:2]}"
    if ours[0] != theirs[0] and call.name not in OWN_BITS:
        return f"bits {theirs[0]} != {ours[0]}"
    for (own_kind, own), (kind, other) in zip(ours[1], theirs[1]):
        if own_kind != kind or not close(own, other):
            return f"{kind} {other} != {own_kind} {own}"
    return None if all(map(close, ours[2], theirs[2])) else f"gradients {theirs[2]} != {ours[2]}"


def sweep(limit, forms, share=1):
    """What differs over all operations, or one in ``share`` of them; as text."""
    found = []
    for entry in list(known_operations())[::share]:
        for call in sampled_calls(entry, torch.complex128, limit):
            if not any(t.is_complex() for t in tensors_in([call.args, *call.kwargs.values()], torch)):
                continue
            for form in forms:
                said = difference(call, form, entry.supports_autograd)
                # What differs without bits, too, is not a matter of them: signs of eigenvectors, gradients of no elements.
                if said is not None and difference(call, "plain", entry.supports_autograd) is None:
                    found.append(f"{call!r} of {form}: {said}"[:600])
    return found


def test_operations_on_lazy_operands():
    assert sweep(1, ["conj"], 6) == []


@pytest.mark.slow
def test_operations_on_lazy_operands_of_every_form():
    share = 1 if int(os.environ.get("RUSHLIGHT_EXAMPLES", "300")) >= 300 else 3
    assert sweep(2, [form for form in FORMS if form != "plain"], share) == []


# ---------------------------------------------------------------- what is not a call of an operation on plain values


def bits(tensor):
    return tensor.is_conj(), tensor.is_neg(), tuple(tensor.stride()), tensor._is_view(), tensor.is_leaf


def numbers(module, *shape, seed=0):
    random = np.random.default_rng(seed)
    return module.tensor(random.standard_normal(shape) + 1j * random.standard_normal(shape))


def both(steps):
    """What ``steps(module)`` gives in the two libraries: tensors as bits and numbers, errors as type and first line."""
    found = []
    for module in (torch, rl):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                values = steps(module)
            except Exception as error:
                values = [type(error).__name__, first_line(error)]
        found.append(
            [
                (bits(v), told(v).tolist(), str(v.dtype).split(".")[-1]) if isinstance(v, module.Tensor) else v
                for v in values
            ]
        )
    return found


WRITES = {
    "fill_": lambda m, b, v: v.fill_(1 + 2j if v.is_complex() else 3.0),
    "zero_": lambda m, b, v: v.zero_(),
    "copy_": lambda m, b, v: v.copy_(m.ones(2, 3, dtype=v.dtype) * 2),
    "copy_ of ints": lambda m, b, v: v.copy_(m.arange(3)),
    "copy_ of the base": lambda m, b, v: v.copy_(b if v.is_complex() else b.real),
    "copy_ into the base": lambda m, b, v: b.copy_(v),
    "add_": lambda m, b, v: v.add_(v.clone()),
    "mul_ by a number": lambda m, b, v: v.mul_(2.5),
    "mul_ by the base": lambda m, b, v: v.mul_(b if v.is_complex() else b.real),
    "mul_ of the base": lambda m, b, v: b.mul_(v),
    "addcmul_": lambda m, b, v: v.addcmul_(v.clone(), v.clone(), value=2),
    "neg_": lambda m, b, v: v.neg_(),
    "exp_": lambda m, b, v: v.exp_(),
    "conj_physical_": lambda m, b, v: v.conj_physical_(),
    "cumsum_": lambda m, b, v: v.cumsum_(0),
    "setitem number": lambda m, b, v: v.__setitem__(0, 2),
    "setitem element": lambda m, b, v: v.__setitem__((1, 2), 2j if v.is_complex() else 5),
    "setitem tensor": lambda m, b, v: v.__setitem__((slice(None), 0), m.tensor([3.0, 4.0], dtype=v.dtype)),
    "setitem mask": lambda m, b, v: v.__setitem__(v.abs() > 1, 7.0),
    "setitem places": lambda m, b, v: v.__setitem__(m.tensor([1]), m.ones(1, 3, dtype=v.dtype)),
    "index_add_": lambda m, b, v: v.index_add_(0, m.tensor([1, 0]), v.clone()),
    "index_put_": lambda m, b, v: v.index_put_((m.tensor([1]),), m.ones((), dtype=v.dtype), accumulate=True),
    "scatter_": lambda m, b, v: v.scatter_(1, m.tensor([[0, 1]]), m.ones(1, 2, dtype=v.dtype) * 3),
    "masked_fill_": lambda m, b, v: v.masked_fill_(m.tensor([True, False, True]), 4),
    "part.fill_": lambda m, b, v: v[:, 1].fill_(9),
    "transposed part": lambda m, b, v: v.mT[1:].mul_(3),
    "out=": lambda m, b, v: m.add(v.clone(), 1, out=v),
    "out= of a product": lambda m, b, v: m.mm(v.clone(), v.clone().mT, out=v[:, :2]),
    "out= of cat": lambda m, b, v: m.cat([v.clone()], out=v),
    "normal_": lambda m, b, v: (m.manual_seed(1), v.normal_()),
    "uniform of parts": lambda m, b, v: (m.manual_seed(1), (v.real if v.is_complex() else v).uniform_()),
    "real =": lambda m, b, v: setattr(v, "real", m.ones(2, 3, dtype=m.float64)),
    "imag =": lambda m, b, v: setattr(v, "imag", m.ones(2, 3, dtype=m.float64)),
    "unsqueeze_": lambda m, b, v: v.unsqueeze_(0),
    "transpose_": lambda m, b, v: v.transpose_(0, 1),
    "resize_": lambda m, b, v: v.resize_(3),
    "resize_ to more": lambda m, b, v: v.resize_(6).add_(1),
    "set_": lambda m, b, v: v.set_(m.ones(2, dtype=v.dtype)),
    "set_ storage": lambda m, b, v: v.set_(b.clone().untyped_storage(), 0, (2,), (1,)),
    "data =": lambda m, b, v: setattr(v, "data", m.ones(2, dtype=v.dtype)),
    "expanded": lambda m, b, v: v[:1].expand(2, 3).fill_(1),
    "foreach": lambda m, b, v: m._foreach_mul_([v, b], 2.0),
}
LOOKS = {
    "conj": lambda b: b.conj(),
    "neg": lambda b: b._neg_view(),
    "imag of conj": lambda b: b.conj().imag,
    "imag of mH": lambda b: b.mT.contiguous().mH.imag,
    "part of conj": lambda b: b.repeat(2, 2)[1:3].conj()[:, ::2],
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("write", WRITES)
def test_writes_through_lazy_views(write, look):
    def steps(module):
        base = numbers(module, 2, 3)
        view = LOOKS[look](base)
        WRITES[write](module, base, view)
        return [base, view, view._version, base.conj()]

    theirs, ours = both(steps)
    assert alike(ours, theirs)


def alike(ours, theirs):
    """Whether nested results are equal, floating-point numbers but for rounding."""
    if isinstance(theirs, (list, tuple)):
        return isinstance(ours, (list, tuple)) and len(ours) == len(theirs) and all(map(alike, ours, theirs))
    if isinstance(theirs, (float, complex)):
        return ours == theirs or abs(ours - theirs) <= 1e-9 * abs(theirs) + 1e-13
    return ours == theirs


HISTORIES = {
    "written through conj": lambda m, y: (lambda v: [v.mul_(y.detach() * 2), y, v])(y.conj()),
    "written through a part": lambda m, y: (lambda v: [v.mul_(3j), y, v])(y.conj()[0]),
    "written through imag": lambda m, y: (lambda v: [v.mul_(3), y, v])(y.conj().imag),
    "written through neg": lambda m, y: (lambda v: [v.exp_(), y, v])(y._neg_view()),
    "base written": lambda m, y: (lambda v: [y.mul_(2j), v, v * v])(y.conj()),
    "base written, a part": lambda m, y: (lambda v: [y.mul_(2j), v, v * v])(y.mH[1]),
    "base written, imag": lambda m, y: (lambda v: [y.mul_(2j), v, v * v])(y.conj().imag),
    "another view written": lambda m, y: (lambda v, w: [w.fill_(2j), v, w, y])(y.conj()[:, 1], y[0]),
    "copied in": lambda m, y: (lambda v: [v.copy_(y.clone().sin()), y, v])(y.conj()),
    "twice": lambda m, y: (lambda v: [v[0].mul_(2j), v.imag.add_(1), v, y])(y.conj()),
    "out of mH": lambda m, y: [y @ y.mH, y.mH.imag, y.H.conj()],
    "resolved": lambda m, y: [y.conj().resolve_conj(), y.imag._neg_view().resolve_neg(), y.conj().clone()],
    "view as real": lambda m, y: [m.view_as_real(y._neg_view()), m.view_as_complex(m.view_as_real(y)._neg_view())],
}


@pytest.mark.parametrize("history", HISTORIES)
def test_gradients_through_lazy_views(history):
    def steps(module):
        x = numbers(module, 2, 3).requires_grad_()
        found = HISTORIES[history](module, x * 1.5)
        total = sum((f.abs() ** 2).sum() for f in found)
        (first,) = module.autograd.grad(total, x, create_graph=True)
        (second,) = module.autograd.grad((first.abs() ** 2).sum(), x)
        return [
            *[type(f.grad_fn).__name__ for f in found],
            *[f.detach() for f in found],
            first.detach().contiguous().clone(),
            second.contiguous().clone(),
        ]

    theirs, ours = both(steps)
    assert alike(ours, theirs)


OTHERS = {
    "conj of conj": lambda m, x: [x.conj().conj(), x.conj().conj() is x, x.conj()._base is x],
    "places": lambda m, x: [f(x).data_ptr() == x.data_ptr() for f in (m.conj, m.adjoint, m._neg_view, lambda t: t.mH[0:])],
    "view_as_real": lambda m, x: [m.view_as_real(x.conj())],
    "view of another dtype": lambda m, x: [x.conj().view(m.float64)],
    "view of its own dtype": lambda m, x: [x.conj().view(m.complex128)],
    "negative view of its own dtype": lambda m, x: [x.conj().imag.view(m.float64)],
    "negative view of another dtype": lambda m, x: [x.conj().imag.view(m.int64)],
    "numpy": lambda m, x: [x.conj().numpy()],
    "numpy of negatives": lambda m, x: [x.conj().imag.numpy()],
    "numpy by force": lambda m, x: [x.conj().numpy(force=True).tolist(), x.conj().imag.numpy(force=True).tolist()],
    "asarray": lambda m, x: [np.asarray(x.conj())],
    "dlpack": lambda m, x: [x.conj().__dlpack__()],
    "printed": lambda m, x: [repr(x.conj()), repr(x.conj().imag), repr(x.mH[0, 0]), f"{x.conj()[0, 0]}", str(x.conj()[:0])],
    "lists": lambda m, x: [x.conj().tolist(), x.conj().imag.tolist(), x.conj()[0, 0].item(), complex(x.conj()[1, 1])],
    "iterated": lambda m, x: [*x.conj(), *x.conj().unbind(1), *x.conj().split(1), *x.conj().chunk(2, 1)],
    "kept": lambda m, x: [
        x.conj().detach(), x.conj().data, x.conj().t(), x.conj().reshape(3, 2), x.conj().t().reshape(6), x.conj()[0],
        x.conj()[[0]], x.conj()[x.real > 0], x.conj().expand(2, 2, 3), x.conj().contiguous(), x.conj().cpu(), +x.conj(),
        x.conj().to(m.complex128), x.conj().to(m.complex64), x.conj().view(-1), x.conj().as_strided((2,), (1,), 1),
        x.conj().diagonal(), x.conj().unfold(1, 2, 1), x.conj().real, x.conj().imag.conj(), x.conj().flatten(), x.conj().movedim(0, 1),
        m.as_tensor(x.conj()), m.asarray(x.conj()), m.nn.Parameter(x.conj()).detach(), x.conj().narrow(1, 1, 2), x.conj()[..., None],
    ],
    "new ones": lambda m, x: [
        m.zeros_like(x.conj()), m.ones_like(x.conj().imag), m.full_like(x.mH, 2), x.conj().new_zeros(2), m.tensor(x.conj()),
        m.cat([x.conj(), x]), m.stack([x, x.conj()]), m.where(x.real > 0, x.conj(), x), x.conj().clone(), x.conj().sum(0),
    ],
    "asked": lambda m, x: [
        m.is_conj(x.conj()), m.is_neg(x.conj().imag), m.resolve_conj(x) is x, m.resolve_neg(x.conj()).is_conj(),
        x.real.conj() is not None, m.equal(x.conj(), x.conj_physical()), x.conj().is_set_to(x), x.conj().is_contiguous(),
        x.conj().storage_offset(), x.conj().element_size(), x.conj().untyped_storage() == x.untyped_storage(), x.conj().type(),
        x.conj().storage()[1], bool((x.conj() == x.conj_physical()).all()), x.conj().is_complex(), x.conj().nbytes,
    ],
    "copies": lambda m, x: [copy.copy(x.conj()), copy.deepcopy(x.conj()), copy.deepcopy(x.conj().imag), pickle.loads(pickle.dumps(x.conj()))],
    "saved": lambda m, x: saved(m, [x, x.conj(), x.conj().imag, x.mH[1]]),
    "leaves": lambda m, x: [x.conj().requires_grad_().grad_fn, collected(m, x), collected(m, x, 2)],
    "derivatives of torch.func": lambda m, x: [
        m.func.vmap(lambda t: t.conj())(x), *m.func.jvp(lambda t: t.conj(), (x,), (x * 1j,)), m.func.grad(lambda t: (t.conj() * x).real.sum())(x),
        m.func.vjp(lambda t: t.conj(), x)[1](x)[0], m.func.vmap(lambda t: t.conj())(x.mH),
        m.func.jvp(lambda t: t.conj().imag.exp(), (x,), (x * 1j,))[1].tolist(), m.func.vmap(lambda t: t.clone().conj().fill_(2j))(x),
        m.func.vmap(m.func.grad(lambda t: (t.conj() * t).real.sum()))(x.conj()),
    ],
    "optimizers": lambda m, x: [stepped(m, x, **options) for options in ({"momentum": 0.5}, {}, {"nesterov": True, "momentum": 0.9})],
    "optimizers that take pairs": lambda m, x: [stepped(m, x, "Adam")],
    "inference": lambda m, x: within(m.inference_mode, x),
    "no_grad": lambda m, x: within(m.no_grad, x),
}  # fmt: skip


def collected(module, x, times=1):
    leaf = x.clone().requires_grad_()
    for _ in range(times):
        leaf.conj().backward(x.clone())
    return leaf.grad


def stepped(module, x, kind="SGD", **options):
    params = [module.nn.Parameter(x.clone()), module.nn.Parameter(x * 2)]
    optimizer = getattr(module.optim, kind)(params, lr=0.5, **options)
    for _ in range(2):
        for param in params:
            param.grad = (param.detach() * 1j + 1).conj()
        optimizer.step()
    return [param.tolist() for param in params]


def within(mode, x):
    with mode():
        view = (x + 1).conj()
        return [view.is_conj(), view._is_view(), view.imag.is_neg(), view.mul_(2).tolist()]


def saved(module, value):
    file = io.BytesIO()
    module.save(value, file)
    found = module.load(io.BytesIO(file.getvalue()))
    across = (rl if module is torch else torch).load(io.BytesIO(file.getvalue()))
    assert [bits(t)[:3] for t in across] == [bits(t)[:3] for t in value] and [told(t).tolist() for t in across] == [
        told(t).tolist() for t in value
    ]
    return [*found, found[0].data_ptr() == found[1].data_ptr()]


@pytest.mark.parametrize("other", OTHERS)
def test_lazy_tensors_elsewhere(other):
    theirs, ours = both(lambda module: OTHERS[other](module, numbers(module, 2, 3)))
    assert alike(ours, theirs)


def test_lazy_tensors_from_workers():
    """PyTorch's workers send the memory without the bits: other numbers."""
    x = numbers(rl, 2, 3)
    found = [*rl.utils.data.DataLoader([x.conj(), x.conj().imag], batch_size=None, num_workers=1)]
    assert [bits(t)[:2] for t in found] == [(True, False), (False, True)]
    assert [t.tolist() for t in found] == [x.conj().tolist(), x.conj().imag.tolist()]


def test_large_lazy_operands_do_not_reach_kernels_unresolved():
    x = rl.complex(rl.arange(300000.0), rl.arange(300000.0) % 7)
    steps = [lambda t: t + x, lambda t: x * t, lambda t: t.sum(), lambda t: t.abs(), lambda t: rl.dot(t, t), lambda t: rl.cat([x, t]),
             lambda t: t.imag * 2, lambda t: t.imag.sum(), lambda t: t.imag.clone(), lambda t: x.clone().copy_(t), lambda t: x.clone().add_(t),
             lambda t: t.reshape(500, 600) @ t.reshape(600, 500), lambda t: rl.fft.fft(t), lambda t: t.imag.half().exp(),
             lambda t: t.imag.to(rl.bfloat16)._neg_view() + 1]  # fmt: skip
    for step in steps:
        assert rl.equal(step(x.conj()), step(x.conj().resolve_conj()))
    written = x.clone()
    written.conj().add_(1j)
    assert rl.equal(written, x - 1j)
    written.conj().imag.fill_(3)
    assert (written.imag == -3).all()

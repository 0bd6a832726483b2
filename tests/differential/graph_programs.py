"""Random programs on autograd's machinery: modes, views and writes, hooks, flags, custom functions, all ways to ask for gradients.

A program runs once with each library and notes after each step what there is to see: values, flags, versions, nodes, errors.
"""

from __future__ import annotations

import re
from random import Random

import torch
from explained import unexplained
from libraries import Raised, attempt, difference, is_fault

import rushlight as rl

MOST = 9  # tensors that a program goes on with
SIZES = ((3,), (2, 3), (), (4, 2), (2, 2, 2), (1,))


class Program:
    """The tensors of a program in one library, and what was noted: (step, what there is to see after it)."""

    def __init__(self, library, seed):
        self.t, self.r = library, Random(seed)
        self.leaves, self.tensors, self.heard, self.notes, self.handles = [], [], [], [], []
        for _ in range(3):
            dtype = self.r.choice((library.float64, library.float64, library.float32, library.complex128))
            size = self.r.choice(SIZES)
            count = library.empty(size).numel()
            values = [self.r.randint(-8, 8) / 4 for _ in range(count)]
            if dtype.is_complex:  # not on the axis, where PyTorch's kernels differ in the signs of zeros
                values = [complex(value, 0.375) for value in values]
            tensor = library.tensor(values, dtype=dtype).reshape(size).clone()
            tensor = tensor if tensor._base is None else tensor.detach().clone()
            if self.r.random() < 0.8:
                tensor.requires_grad_()
            self.leaves.append(tensor)
            self.tensors.append(tensor)

    def pick(self):
        return self.r.choice(self.tensors)

    def step(self, apart=False):
        """Run a random step and note what came of it. ``apart``: what a write reads beside its own memory is copied before."""
        name = self.r.choice(list(STEPS))
        a, b, seed = self.pick(), self.pick(), self.r.randrange(1 << 30)
        if apart:
            a, b = a.clone() if name == "out" else a, b.clone()
        found = attempt(STEPS[name], self, self.t, Random(seed), a, b)
        made = found if isinstance(found, (list, tuple)) and not isinstance(found, Raised) else [found]
        made = [each for each in made if isinstance(each, self.t.Tensor)]
        self.tensors += [each for each in made if each.numel() <= 64]
        del self.tensors[3 : max(3, len(self.tensors) - MOST)]
        self.notes.append(
            (name, _brief(a, b, seed), found if isinstance(found, Raised) else None, [_seen(x) for x in self.tensors])
        )
        self.notes.append((name, "heard", None, self.heard[:]))
        return isinstance(found, Raised)


def _brief(*values):
    return ", ".join(
        str(v) if isinstance(v, int) else f"{list(v.shape)}{'t' if v.requires_grad else ''}" for v in values
    )


def _seen(tensor):
    """What there is to see of a tensor."""
    node = attempt(lambda: tensor.grad_fn)
    return [
        tensor.detach(),
        tensor.requires_grad,
        tensor._base is not None,
        node if isinstance(node, Raised) else node and node.name(),
        None if isinstance(node, Raised) or (node and not tensor.retains_grad) else tensor.grad,
        bool(node) and tensor.retains_grad,  # of a leaf it means nothing
    ]


def _real(t, values):
    """A sum over all tensors that require grad, as one real number; each with a factor, so that no gradient is handed to two."""
    ends = [v for v in values if v.requires_grad]
    return (
        sum((v.abs() if v.is_complex() else v).double().sum() * (k + 1) for k, v in enumerate(ends)) if ends else None
    )


def _total(p, r, least=1):
    ends = [p.pick() for _ in range(r.randint(least, 3))]
    found = _real(p.t, ends)
    if found is None:
        raise LookupError("nothing requires grad")
    return found


def _grad(p, t, r, a, b):
    inputs = [p.r.choice(p.leaves + p.tensors) for _ in range(r.randint(1, 3))]
    options = {
        "allow_unused": r.random() < 0.8,
        "retain_graph": r.choice((None, True, False)),
        "create_graph": r.random() < 0.3,
    }
    if r.random() < 0.3:
        options["materialize_grads"] = True
    return [g.clone() for g in t.autograd.grad(_total(p, r), inputs, **options) if g is not None]


def _batched_grad(p, t, r, a, b):
    if p.handles or any(x.retains_grad for x in p.tensors):  # these would keep tensors of the vmap
        return None
    flowing = t.ones(2, *a.shape, dtype=a.dtype) * t.tensor([1.0, 2.0], dtype=a.dtype).reshape(2, *[1] * a.ndim)
    found = t.autograd.grad(a, p.leaves, flowing, is_grads_batched=True, allow_unused=True, retain_graph=True)
    return [g.clone() for g in found if g is not None]


def _second(p, t, r, a, b):
    leaves = [x for x in p.leaves if x.requires_grad]
    first = t.autograd.grad(_total(p, r), leaves, create_graph=True, allow_unused=True)
    squares = [g * g for g in first if g is not None]  # in parts: of abs() the second derivative is rounding alone
    end = _real(t, [part for s in squares for part in ((s.real, s.imag) if s.is_complex() else (s,))])
    if end is None:
        raise LookupError("no gradient requires grad")
    found = t.autograd.grad(end, leaves, allow_unused=True, retain_graph=r.random() < 0.5)
    return [g.clone() for g in found if g is not None]


def _backward(p, t, r, a, b):
    options = {"retain_graph": r.choice((None, True)), "create_graph": False}
    if r.random() < 0.3:
        options["inputs"] = [p.r.choice(p.leaves + p.tensors) for _ in range(r.randint(1, 2))]
    _total(p, r).backward(**options)


def _backward_with(p, t, r, a, b):
    a.backward(t.ones_like(a) if r.random() < 0.8 else t.ones(3), retain_graph=r.random() < 0.5)


def _several(p, t, r, a, b):
    t.autograd.backward([a, b], [t.ones_like(a), t.ones_like(b)], retain_graph=r.random() < 0.5)


def _hook(p, t, r, a, b):
    kind, number = r.choice(("hear", "scale", "none", "wrong")), len(p.handles)

    def hook(grad):
        p.heard.append([number, None if grad is None else grad.detach().clone()])
        return None if grad is None else {"hear": None, "scale": grad * 2, "none": None, "wrong": grad}[kind]

    p.handles.append(a.register_hook(hook))


def _post_hook(p, t, r, a, b):
    number = len(p.handles)
    p.handles.append(a.register_post_accumulate_grad_hook(lambda x: p.heard.append([number, x.grad.detach().clone()])))


def _node_hook(p, t, r, a, b):
    number = len(p.handles)
    if r.random() < 0.5:
        p.handles.append(
            a.grad_fn.register_hook(
                lambda gi, go: p.heard.append([number, [g is None for g in gi], [g is None for g in go]])
            )
        )
    else:
        p.handles.append(a.grad_fn.register_prehook(lambda go: p.heard.append([number, [g is None for g in go]])))


def _remove_hook(p, t, r, a, b):
    p.handles[r.randrange(len(p.handles))].remove()


def _no_grad(function):
    def call(p, t, r, a, b):
        with r.choice((t.no_grad, t.no_grad, t.enable_grad))():
            return function(p, t, r, a, b)

    return call


def _set_data(p, t, r, a, b):
    a.data = b.data if a.shape == b.shape and r.random() < 0.5 else a.data * 2


def _custom(p, t, r, a, b):
    kind = r.choice(("plain", "dirty", "identity", "none", "view", "two"))

    class Function(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            if kind == "dirty":
                ctx.mark_dirty(x)
                return x.mul_(2)
            if kind == "view":
                return x.view_as(x)
            if kind == "two":
                first, second = x * 2, x * 3
                ctx.mark_non_differentiable(second)
                return first, second
            return x if kind == "identity" else x * 3

        @staticmethod
        def backward(ctx, grad, *others):
            if kind != "dirty":
                ctx.saved_tensors  # noqa: B018
            p.heard.append(["custom", list(ctx.needs_input_grad)])
            return (None if kind == "none" else grad * 2), None

    return Function.apply(a, b)


def _out(p, t, r, a, b):
    return r.choice((t.add, t.mul, t.sub))(a, b, out=p.pick() if r.random() < 0.7 else t.empty(0, dtype=a.dtype))


def _foreach(p, t, r, a, b):
    if a.requires_grad or b.requires_grad:  # PyTorch records a list as one operation
        a, b = a.detach(), b.detach()
    name = r.choice(("_foreach_add", "_foreach_mul", "_foreach_neg", "_foreach_add_", "_foreach_mul_", "_foreach_exp"))
    extra = () if name in ("_foreach_neg", "_foreach_exp") else (r.choice((2, [b, a], 0.5)),)
    return getattr(t, name)([a, b], *extra)


def _multiple(p, t, r, a, b):
    dim = r.randrange(a.ndim) if a.ndim else 0
    return r.choice((lambda: a.split(1, dim), lambda: a.chunk(2, dim), lambda: a.unbind(dim), lambda: t.tensor_split(a, 2, dim),
                     lambda: t.split_with_sizes(a, [1, a.shape[dim] - 1], dim)))()[:3]  # fmt: skip


def _view(p, t, r, a, b):
    return r.choice((lambda: a[0], lambda: a.t(), lambda: a.view(-1), lambda: a[..., :1], lambda: a.unsqueeze(0), lambda: a.real, lambda: a.imag,
                     lambda: t.view_as_real(a), lambda: t.view_as_complex(a), lambda: a.diagonal(), lambda: a.expand(2, *a.shape),
                     lambda: a.as_strided((2,), (1,)), lambda: a.conj(), lambda: a.detach(), lambda: a.narrow(0, 0, 1), lambda: a.squeeze(),
                     lambda: a.transpose(0, -1), lambda: a.select(0, -1), lambda: a.view_as(a), lambda: a[:, 0], lambda: a.unfold(0, 2, 1),
                     lambda: a.movedim(0, -1), lambda: a.flatten(), lambda: a.reshape(-1), lambda: a.permute(*reversed(range(a.ndim))),
                     lambda: a.view_as(a)))()  # fmt: skip


def _write(p, t, r, a, b):
    return r.choice((lambda: a.mul_(2), lambda: a.add_(b), lambda: a.mul_(b), lambda: a.copy_(b), lambda: a.zero_(), lambda: a.fill_(1.5),
                     lambda: a.sub_(1), lambda: a.exp_(), lambda: a.neg_(), lambda: a.div_(2), lambda: a.pow_(2), lambda: a.sigmoid_(),
                     lambda: a.tanh_(), lambda: a.clamp_(-1, 1), lambda: a.addcmul_(b, b), lambda: a.index_fill_(0, t.tensor([0]), 2),
                     lambda: a.masked_fill_(t.ones_like(a, dtype=t.bool), 0.5), lambda: a.t_(), lambda: a.squeeze_(), lambda: a.unsqueeze_(0),
                     lambda: a.transpose_(0, -1), lambda: a.__setitem__(0, b), lambda: a.__setitem__(..., 2), lambda: a.sqrt_(),
                     lambda: a.relu_(), lambda: a.lerp_(b, 0.3), lambda: a.index_add_(0, t.tensor([0]), b[:1]), lambda: a if a.is_complex() else a.abs_()))()  # fmt: skip


def _new(p, t, r, a, b):
    return r.choice((lambda: a * b, lambda: a + b, lambda: a * 2, lambda: a.exp(), lambda: a * a, lambda: a.sum(), lambda: a.sin(), lambda: a - b,
                     lambda: a / (b * b.conj() + 2), lambda: a.abs(), lambda: a.tanh(), lambda: a.clone(), lambda: t.cat([a, b]),
                     lambda: t.stack([a, a]), lambda: t.where(t.ones_like(a, dtype=t.bool), a, b), lambda: a.pow(2), lambda: a.mean(0),
                     lambda: a @ b if a.ndim >= b.ndim else a @ a.mT, lambda: a.double(), lambda: a.float(), lambda: a.to(t.complex128), lambda: a.contiguous(), lambda: a.cumsum(0),
                     lambda: a.prod(), lambda: a.sigmoid(), lambda: t.maximum(a, b), lambda: a.flip(0), lambda: a.softmax(-1)))()  # fmt: skip


def _storage(p, t, r, a, b):
    c = a.clone() if r.random() < 0.5 else a.detach().clone()
    smaller = b if b.numel() <= c.numel() else c  # more elements would be uninitialised
    return r.choice((lambda: c.set_(b), lambda: c.resize_(min(1, c.numel())), lambda: c.resize_as_(smaller), lambda: c.set_(b.detach().clone()),
                     lambda: c.resize_(c.shape)))()  # fmt: skip


def _flags(p, t, r, a, b):
    return r.choice((lambda: a.requires_grad_(), lambda: a.requires_grad_(False), lambda: a.detach_(), lambda: a.retain_grad(),
                     lambda: setattr(a, "requires_grad", r.random() < 0.5), lambda: setattr(a, "grad", None),
                     lambda: setattr(a, "grad", b.detach().clone()), lambda: a.grad.zero_() and None))()  # fmt: skip


STEPS = {
    "new": _new, "new too": _new, "new again": _new, "view": _view, "view too": _view, "view again": _view, "write": _write, "write too": _write,
    "several views": _multiple,
    "flags": _flags, "storage": _storage, "data": _set_data, "custom": _custom, "out": _out, "foreach": _foreach,
    "grad": _grad, "batched grad": _batched_grad, "second": _second, "backward": _backward, "backward with": _backward_with, "backward of several": _several,
    "hook": _hook, "post hook": _post_hook, "node hook": _node_hook, "remove hook": _remove_hook,
    "new in mode": _no_grad(_new), "view in mode": _no_grad(_view), "views in mode": _no_grad(_multiple), "write in mode": _no_grad(_write),
    "flags in mode": _no_grad(_flags),
}  # fmt: skip


# What PyTorch says of tensors whose memory or shape was exchanged behind a graph, and of what its `vmap` cannot.
_OPEN = ("returned an invalid gradient", "Batching rule not implemented", "not resizable", "setStorage", "sparse_coo")
_BACKWARD = frozenset(["grad", "second", "backward", "backward with", "backward of several", "batched grad"])


def _reads_what_it_wrote(ours, seed, number):
    """Whether PyTorch notes what our program did after step ``number``, a write, if what it reads is copied before.

    Where an operand has gaps, or ``out=`` grows, PyTorch does not look whether the two share memory, and reads what it wrote
    already, in the order of its loop. Here each result is computed from what was there before.
    """
    if not ours.notes[-1][0].startswith(("write", "out")):
        return False
    program = Program(torch, seed)
    for at in range(number + 1):
        program.step(apart=at == number)
    return not difference(ours.notes[-2:], program.notes[-2:])


def _is_gradient_of_stopped(told, error):
    """Whether it is the gradients that differ, of a backward that ended at a node without a derivative.

    PyTorch comes to such a node as soon as to a leaf, whichever was first in line: which leaves had theirs by then is open.
    """
    stopped = isinstance(error, Raised) and error.line.startswith("derivative for ")
    return stopped and re.match(r"\[\d+\] \[4\] ", told) is not None


def compared(seed, steps=14):
    """The first step on which the libraries differ, in words; None where they agree."""
    programs = [Program(library, seed) for library in (rl, torch)]
    for number in range(steps):
        raised = [program.step() for program in programs]
        (name, shown, ours, seen), (_, _, theirs, expected) = (program.notes[-2] for program in programs)
        if any(map(is_fault, [theirs, *(node for _, _, _, node, *_ in expected)])) or (
            isinstance(theirs, Raised) and any(words in theirs.line for words in _OPEN)
        ):
            return None
        told = difference(ours, theirs) or difference(seen, expected)
        told = told or difference(*[program.heard for program in programs])
        if told:
            if _reads_what_it_wrote(programs[0], seed, number) or _is_gradient_of_stopped(told, theirs):
                return None
            return unexplained(f"{name}({shown}): {told}", "graph program", programs[1].tensors)
    return None

"""The steps of random programs: views, writes, other operations, and what users do with tensors and graphs.

Each step is ``step(world, a, b)``, on two tensors of a `World`; the tensors that it returns join the world.
"""


class World:
    """One library's tensors, and what hooks and backward calls gave."""

    def __init__(self, library):
        t = self.t = library
        x = t.arange(6, dtype=t.float64).reshape(2, 3).div(5).sub(0.4).requires_grad_()
        y = t.tensor([0.3, -0.7, 0.2], dtype=t.float64, requires_grad=True)
        self.leaves = [x, y]
        self.tensors = [x, y, x * 1.5, y * 0.5, t.ones(2, 3, dtype=t.float64)]
        self.gradients = []

    def indices(self, *values):
        return self.t.tensor(values)


def assign(key):
    """A step that writes ``b`` into ``a[key]``, where b fits or is broadcast."""

    def step(w, a, b):
        place = key(w, a) if callable(key) else key
        a[place] = b

    return step


def assign_number(key):
    def step(w, a, b):
        a[key(w, a) if callable(key) else key] = 0.75

    return step


VIEWS = [
    lambda w, a, b: a.view(-1),
    lambda w, a, b: a.reshape(3, -1),
    lambda w, a, b: a.transpose(0, -1),
    lambda w, a, b: a.t(),
    lambda w, a, b: a[0],
    lambda w, a, b: a[1:],
    lambda w, a, b: a[..., :2],
    lambda w, a, b: a[0, 1:],
    lambda w, a, b: a[:, 1],
    lambda w, a, b: a[::2],
    lambda w, a, b: a[None],
    lambda w, a, b: a[:],
    lambda w, a, b: a.unsqueeze(-1),
    lambda w, a, b: a.squeeze(),
    lambda w, a, b: a.squeeze(0),
    lambda w, a, b: a.expand(2, *a.shape),
    lambda w, a, b: a.diagonal(),
    lambda w, a, b: a.narrow(0, 1, 1),
    lambda w, a, b: a.select(-1, 0),
    lambda w, a, b: a.flatten(),
    lambda w, a, b: a.unflatten(-1, (-1, 1)) if a.ndim else a,
    lambda w, a, b: a.unfold(0, 2, 2),
    lambda w, a, b: a.movedim(0, -1),
    lambda w, a, b: a.view_as(a),
    lambda w, a, b: a.as_strided((1,), (1,), a.storage_offset()) if a.numel() else a,
    lambda w, a, b: a.as_strided((2,), (2,)) if a.numel() > 2 and a.is_contiguous() else a,
    lambda w, a, b: a.permute(*reversed(range(a.ndim))),
    lambda w, a, b: a.detach(),
    lambda w, a, b: a.data,
]
SEVERAL = [
    lambda w, a, b: a.unbind(),
    lambda w, a, b: a.unbind(-1)[1],
    lambda w, a, b: a.split(1),
    lambda w, a, b: a.split([1, a.shape[-1] - 1], -1)[1],
    lambda w, a, b: a.chunk(2, -1),
    lambda w, a, b: a.tensor_split(2)[0],
    lambda w, a, b: next(iter(a)),
]
WRITES = [
    lambda w, a, b: a.mul_(b),
    lambda w, a, b: a.mul_(2),
    lambda w, a, b: a.add_(b),
    lambda w, a, b: a.add_(1),
    lambda w, a, b: a.sub_(b, alpha=0.5),
    lambda w, a, b: a.div_(3),
    lambda w, a, b: a.zero_(),
    lambda w, a, b: a.fill_(0.75),
    lambda w, a, b: a.fill_(b.flatten()[0]),
    lambda w, a, b: a.copy_(b),
    lambda w, a, b: a.sin_(),
    lambda w, a, b: a.exp_(),
    lambda w, a, b: a.sigmoid_(),
    lambda w, a, b: a.relu_(),
    lambda w, a, b: a.clamp_(-0.5, 0.5),
    lambda w, a, b: a.masked_fill_(a > 0, 0.25),
    lambda w, a, b: a.addcmul_(b, b, value=0.1),
    lambda w, a, b: a.lerp_(b, 0.3),
    lambda w, a, b: (
        a.index_add_(0, w.indices(0), b.detach()[:1]) if a.shape[1:] == b.shape[1:] and a.ndim == b.ndim else None
    ),
    lambda w, a, b: a.index_fill_(0, w.indices(0), 0.5),
    lambda w, a, b: a.detach().mul_(2),
    lambda w, a, b: a.data.mul_(2),
]
ASSIGNMENTS = [
    assign(0),
    assign(slice(1, None)),
    assign((Ellipsis, 0)),
    assign(slice(None)),
    assign(Ellipsis),
    assign(lambda w, a: w.indices(1, 0)),
    assign(lambda w, a: a > 0.1),
    assign_number(0),
    assign_number(slice(None, 1)),
    assign_number(lambda w, a: a > 0.1),
    assign_number(lambda w, a: w.indices(0)),
]
# Where the shapes differ PyTorch resizes memory in place, which no NumPy array can follow.
OUT = [
    lambda w, a, b: w.t.add(b, 1, out=a) if a.shape == b.shape else None,
    lambda w, a, b: w.t.mul(b, b, out=a) if a.shape == b.shape else None,
    lambda w, a, b: w.t.sin(a.detach(), out=b.detach()) if a.shape == b.shape else None,
]
SHAPES = [
    lambda w, a, b: a.unsqueeze_(0),
    lambda w, a, b: a.squeeze_(),
    lambda w, a, b: a.squeeze_(0),
    lambda w, a, b: a.transpose_(0, -1),
    lambda w, a, b: a.t_(),
    lambda w, a, b: a.swapaxes_(0, 1),
    lambda w, a, b: a.as_strided_((1,), (1,)) if a.numel() else a,
]
OTHERS = [
    lambda w, a, b: a * b,
    lambda w, a, b: a + b,
    lambda w, a, b: a - 2 * b,
    lambda w, a, b: a * 3,
    lambda w, a, b: a.sin(),
    lambda w, a, b: a.exp(),
    lambda w, a, b: a.sigmoid(),
    lambda w, a, b: a.tanh(),
    lambda w, a, b: a.sum(0, keepdim=True),
    lambda w, a, b: a.sum(),
    lambda w, a, b: a.mean(),
    lambda w, a, b: w.t.cat([a, b]),
    lambda w, a, b: w.t.stack([a, b], -1),
    lambda w, a, b: w.t.where(a > 0, a, b),
    lambda w, a, b: a.clone(),
    lambda w, a, b: a.contiguous(),
    lambda w, a, b: a.softmax(0),
    lambda w, a, b: a.max(0).values,
    lambda w, a, b: a @ b.mT if a.ndim == b.ndim == 2 else None,
    lambda w, a, b: a[w.indices(0, 0, 1)],
    lambda w, a, b: w.t.zeros(2, 3, dtype=w.t.float64),
]


def hook_doubles(w, a, b):
    """Register a hook that notes and doubles the gradient."""

    def hook(grad):
        w.gradients.append(grad.detach().clone())
        return grad * 2

    a.register_hook(hook)


def backward(w, a, b):
    """Backward from one tensor, keeping the graph."""
    a.sum().backward(retain_graph=True)
    w.gradients += [leaf.grad.clone() for leaf in w.leaves if leaf.grad is not None]


def gradient(w, a, b):
    """The gradient of one tensor with respect to another and to the leaves."""
    found = w.t.autograd.grad((a * a).sum(), [b, *w.leaves], retain_graph=True, allow_unused=True)
    w.gradients += [grad for grad in found if grad is not None]


def second_gradient(w, a, b):
    """The gradient of a gradient."""
    first = w.t.autograd.grad((a * a).sum(), w.leaves, create_graph=True, allow_unused=True)
    total = sum((grad * grad).sum() for grad in first if grad is not None)
    found = w.t.autograd.grad(total, w.leaves, retain_graph=True, allow_unused=True)
    w.gradients += [grad for grad in found if grad is not None]


def forget(w, a, b):
    for leaf in w.leaves:
        leaf.grad = None


USES = [
    hook_doubles,
    backward,
    gradient,
    second_gradient,
    forget,
    lambda w, a, b: a.retain_grad(),
    lambda w, a, b: a.requires_grad_(),
    lambda w, a, b: a.requires_grad_(False),
    lambda w, a, b: a.detach_() if a.is_leaf or a._is_view() else None,
    lambda w, a, b: a.grad_fn and None,
    lambda w, a, b: setattr(a, "data", b.detach().clone()) if a.shape == b.shape else None,
    lambda w, a, b: setattr(a, "requires_grad", False),
    lambda w, a, b: setattr(a, "grad", b.detach().clone()),
]


def unrecorded(step):
    """``step`` under no_grad."""

    def run(w, a, b):
        with w.t.no_grad():
            return step(w, a, b)

    return run


def on_untracked(step):
    """``step`` where no gradient flows: an unrecorded change of shape leaves gradients without a place."""
    return lambda w, a, b: None if a.requires_grad else step(w, a, b)


# What PyTorch computes where the operands of a write share memory, and it does not refuse, is anybody's guess.
WRITING = frozenset((*WRITES, *ASSIGNMENTS, *OUT))
RECORDED = [*VIEWS, *SEVERAL, *WRITES, *ASSIGNMENTS, *OUT, *SHAPES, *OTHERS, *USES]
UNRECORDED = [*VIEWS, *SEVERAL, *WRITES, *ASSIGNMENTS, *OUT, *map(on_untracked, SHAPES), *OTHERS[:3]]
STEPS = [*RECORDED, *map(unrecorded, UNRECORDED)]
WRITE_NUMBERS = frozenset(number for number, step in enumerate((*RECORDED, *UNRECORDED)) if step in WRITING)

"""Odd models under all combinations of DistributedDataParallel's options: writes down losses, gradients and buffers, or errors."""

import itertools
import os

from telling import CASES, m, nn, part, rank, tell

DDP, F = nn.parallel.DistributedDataParallel, nn.functional
checkpoint = part("utils.checkpoint").checkpoint
hooks = part("distributed.algorithms.ddp_comm_hooks.default_hooks")


class Odd(nn.Module):
    """Two layers, and what the model's name says besides."""

    def __init__(self, kind):
        super().__init__()
        m.manual_seed(rank)  # the parameters of rank 0 count
        self.kind, self.calls = kind, 0
        self.first, self.more, self.last = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 2)
        self.scale = nn.Parameter(m.tensor(1.5))
        if kind == "shared":
            self.again = nn.Linear(4, 4)
            self.again.weight = self.more.weight
        elif kind == "frozen":
            self.first.weight.requires_grad_(False)
            self.last.bias.requires_grad_(False)
        elif kind == "complex":
            self.turn = nn.Parameter(m.randn(4, dtype=m.complex64))
        elif kind == "empty":
            self.none = nn.Parameter(m.zeros(0, 3))
        elif kind == "turned":
            self.more.weight = nn.Parameter(m.randn(4, 4).t())
        elif kind == "buffers":
            self.norm = nn.BatchNorm1d(4)
            self.register_buffer("seen", m.zeros(2, dtype=m.int64) + rank)
        elif kind == "some narrow":
            self.more = nn.Linear(4, 4).to(m.bfloat16)
        if kind == "narrow":
            self.to(m.bfloat16)

    def forward(self, x):
        self.calls += 1
        dtype = self.first.weight.dtype
        x = m.tanh(self.first(x.to(dtype)))
        if self.kind == "checkpointed":
            return self.last(checkpoint(self._inside, x, use_reentrant=False)) * self.scale
        if self.kind == "sometimes" and self.calls % 2:
            return self.last(x)
        if self.kind == "by rank" and rank == 0:
            return self.last(x) * self.scale
        x = x if self.kind == "unused" else self._inside(x)
        made = self.last(x) * self.scale
        if self.kind == "nested":
            return {"loss": [made, (self.first(m.ones(1, 3)), None)], "name": "x"}
        return made

    def _inside(self, x):
        x = m.tanh(self.more(x.to(self.more.weight.dtype))).to(x.dtype)
        if self.kind == "twice":
            x = m.tanh(self.more(x))
        if self.kind == "shared":
            x = self.again(x)
        if self.kind == "complex":
            x = (x * self.turn).real + (x * self.turn).imag
        if self.kind == "empty":
            x = x + self.none.sum()
        if self.kind == "buffers":
            self.seen.add_(1)
            x = self.norm(x)
        return x


def plain(tensor):
    return (
        None if tensor is None else m.view_as_real(tensor.detach()).tolist() if tensor.is_complex() else tensor.tolist()
    )


def step(model, number):
    x = m.randn(4, 3, generator=m.Generator().manual_seed(10 * number + rank))
    made = model(x)
    made = made["loss"][0] if isinstance(made, dict) else made
    loss = made.float().square().mean()
    loss.backward()
    return loss.item()


def trained(kind, hook=None, way="plain", **options):
    odd = Odd(kind)
    model = DDP(odd, **options)
    if hook is not None:
        model.register_comm_hook(None, getattr(hooks, hook))
    found = []
    for number in range(3):
        if way == "none" or number == 0:
            model.zero_grad(set_to_none=True)
        elif way == "zeros":
            model.zero_grad(set_to_none=False)
        if way == "no_sync" and number != 1:
            with model.no_sync():
                found.append(step(model, number))
        elif way == "two forward":
            x = m.ones(2, 3) * (rank + 1)
            one, two = model(x), model(x + 1)
            (one["loss"][0] + two["loss"][0] if isinstance(one, dict) else one + two).float().sum().backward()
        else:
            found.append(step(model, number))
        found.append([plain(each.grad) for each in odd.parameters()])
    found.append([plain(each) for each in odd.buffers()])
    if way == "join":
        with model.join():
            for number in range(1 + rank):
                found.append(step(model, number))
        found.append([plain(each.grad) for each in odd.parameters()])
    return found


KINDS = (
    "whole", "unused", "sometimes", "by rank", "shared", "twice", "frozen", "complex", "empty", "turned", "buffers", "narrow",
    "some narrow", "nested", "checkpointed",
)  # fmt: skip
JOINED = ("whole", "shared", "frozen", "buffers", "complex")
SWITCHES = ("find_unused_parameters", "static_graph", "gradient_as_bucket_view")
for _kind, *_values in itertools.product(KINDS, (False, True), (False, True), (False, True)):
    _options = dict(zip(SWITCHES, _values))
    _name = " ".join([_kind, *(name for name, on in _options.items() if on)])
    if _kind == "by rank" and not _options["find_unused_parameters"]:
        continue  # the others wait for what never comes
    ways = ["none", "zeros", "added"]
    ways += [] if _options["static_graph"] else ["no_sync"]  # PyTorch has an internal error where that comes first
    ways += (
        [] if _kind == "buffers" else ["two forward"]
    )  # the second one writes into buffers that backward of the first needs
    ways += ["join"] if _kind in JOINED and not _options["static_graph"] else []  # PyTorch's processes end at that
    for _way in ways:
        CASES[f"{_name}, {_way}"] = lambda kind=_kind, options=_options, way=_way: trained(kind, way=way, **options)
    CASES[f"{_name}, hook"] = lambda kind=_kind, options=_options: trained(kind, "allreduce_hook", **options)


EVERY = max(1, 3000 // int(os.environ.get("RUSHLIGHT_EXAMPLES", "300")))  # all of them where that is in the thousands
for _name in [name for place, name in enumerate(CASES) if place % EVERY]:
    del CASES[_name]

if __name__ == "__main__":
    tell()

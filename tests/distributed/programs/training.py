"""Trainings with DistributedDataParallel and its relatives, run by each process of a job: writes down gradients and parameters, in JSON."""

from telling import CASES, case, d, m, nn, part, rank, size, tell

hooks = part("distributed.algorithms.ddp_comm_hooks")
default_hooks, power = (
    part(f"distributed.algorithms.ddp_comm_hooks.{name}") for name in ("default_hooks", "powerSGD_hook")
)
DDP = nn.parallel.DistributedDataParallel


def numbers(module):
    """Every parameter's gradient and value, and the buffers."""
    found = [
        (n, None if p.grad is None else p.grad.to_dense().tolist(), p.tolist()) for n, p in module.named_parameters()
    ]
    return [found, [(n, b.tolist()) for n, b in module.named_buffers()]]


def network(norm=False):
    m.manual_seed(rank)  # the parameters of rank 0 count
    layers = [
        nn.Linear(4, 16),
        nn.Tanh(),
        nn.BatchNorm1d(16) if norm else nn.Identity(),
        nn.Linear(16, 16),
        nn.ReLU(),
        nn.Linear(16, 2),
    ]
    return nn.Sequential(*layers)


def batch(step, rows=6):
    generator = m.Generator().manual_seed(100 * step + rank)
    return m.randn(rows, 4, generator=generator)


def train(module, steps=4, rate=0.1):
    optimizer = m.optim.SGD(module.parameters(), lr=rate, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        module(batch(step)).square().mean().backward()
        optimizer.step()
    return numbers(module)


OPTIONS = {
    "plain": {}, "views": {"gradient_as_bucket_view": True}, "static": {"static_graph": True}, "small buckets": {"bucket_cap_mb": 0.0005},
    "small first buckets": {"bucket_cap_mb_list": [1]}, "looking": {"find_unused_parameters": True},
    "small views": {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.0005, "find_unused_parameters": True},
}  # fmt: skip
for _name, _options in OPTIONS.items():
    CASES[f"train {_name}"] = lambda options=_options: train(DDP(network(), **options))


def wide(**options):
    """Gradients that are large enough to be averaged where they lie."""
    m.manual_seed(0)
    module = DDP(
        nn.Sequential(nn.Linear(4, 300), nn.Tanh(), nn.Linear(300, 300), nn.Tanh(), nn.Linear(300, 2)), **options
    )
    optimizer = m.optim.SGD(module.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad(set_to_none=step == 1)
        with module.no_sync() if step == 1 else m.enable_grad():
            module(batch(step)).square().mean().backward()
        optimizer.step()
    return [(p.grad.sum().item(), p.abs().sum().item()) for p in module.parameters()]


CASES["wide"] = wide
CASES["wide looking"] = lambda: wide(find_unused_parameters=True)
for _sync in (True, False):
    CASES[f"norm {_sync}"] = lambda sync=_sync: train(DDP(network(True), broadcast_buffers=sync))


class Branches(nn.Module):
    def __init__(self, width):
        super().__init__()
        m.manual_seed(0)
        self.parts = nn.ModuleList([nn.Linear(width, 2) for _ in range(size + 1)])

    def forward(self, x, which):
        return self.parts[which](x)


@case
def unused(width=4):
    module, seen = DDP(Branches(width), find_unused_parameters=True), []
    for which in (rank, 0, rank):
        module.zero_grad()
        module(batch(0).repeat(1, width // 4), which).square().sum().backward()
        seen.append(
            numbers(module)
            if width == 4
            else [None if p.grad is None else p.grad.sum().item() for p in module.parameters()]
        )
    return seen


@case
def wide_unused():
    return unused(10000)


class Words(nn.Module):
    """Tables of words, whose gradients are sparse, of which the second may be left out: then PyTorch refuses."""

    def __init__(self):
        super().__init__()
        m.manual_seed(0)
        self.words, self.bags = nn.Embedding(30, 4, sparse=True), nn.EmbeddingBag(30, 4, mode="sum", sparse=True)
        self.head = nn.Linear(4, 2)

    def forward(self, words, with_bags=True):
        found = self.words(words).sum(1)
        return self.head(found + self.bags(words) if with_bags else found)


def sparse(steps=3, bags=lambda step: True, joining=False, hook=None, **options):
    module = DDP(Words(), **options)
    optimizer, seen = m.optim.SGD(module.parameters(), lr=0.1), []
    if hook is not None:
        module.register_comm_hook(seen, hook)
    with module.join() if joining else m.enable_grad():
        for step in range(steps):
            optimizer.zero_grad(set_to_none=step != 1)
            with module.no_sync() if step == 2 and not joining else m.enable_grad():
                words = (m.arange(6).view(2, 3) * (step + 1) + 4 * rank) % 30
                module(words, bags(step)).square().mean().backward()
            seen += [None if p.grad is None else p.grad.to_dense().tolist() for p in module.parameters()]
            optimizer.step()
    return [seen, numbers(module)]


CASES["sparse"] = sparse
CASES["sparse views"] = lambda: sparse(gradient_as_bucket_view=True)
CASES["sparse small buckets"] = lambda: sparse(bucket_cap_mb=0.0001)
CASES["sparse never used"] = lambda: sparse(bags=lambda step: False, find_unused_parameters=True)
CASES["sparse static"] = lambda: sparse(static_graph=True)
CASES["sparse joined"] = lambda: sparse(2 + rank, joining=True)


def watching(seen, bucket):
    """A hook that sees what buckets hold, in the order in which they come."""
    buffer = bucket.buffer()
    shapes = sorted(tuple(each.shape) for each in bucket.gradients())
    seen.append(
        [bucket.index(), bucket.is_last(), buffer.is_sparse, list(buffer.shape), len(bucket.parameters()), str(shapes)]
    )
    return d.all_reduce(buffer.div_(size), async_op=True).get_future().then(lambda future: future.value()[0])


for _name, _options in {
    "": {},
    "views": {"gradient_as_bucket_view": True},
    "joined": {"steps": 2 + rank, "joining": True},
}.items():
    CASES[f"sparse hook {_name}"] = lambda options=_options: sparse(hook=watching, **options)
if size == 2:  # sums of more depend on their order
    CASES["sparse hook of half precision"] = lambda: sparse(
        hook=lambda seen, bucket: default_hooks.bf16_compress_hook(None, bucket)
    )


@case
def accumulated():
    module = DDP(network())
    for step in range(2):
        with module.no_sync():
            module(batch(step)).square().sum().backward()
        module(batch(step + 5)).square().sum().backward()
    return numbers(module)


@case
def part_of_the_world():
    group = d.new_group([0, 1])
    return train(DDP(network(), process_group=group)) if rank < 2 else None


HOOKS = {
    "allreduce": lambda: (None, default_hooks.allreduce_hook), "fp16": lambda: (None, default_hooks.fp16_compress_hook),
    "power": lambda: (power.PowerSGDState(None, 1, 2, min_compression_rate=1), power.powerSGD_hook),
    "cold power": lambda: (power.PowerSGDState(None, 2, 2, 1, warm_start=False, use_error_feedback=False), power.powerSGD_hook),
    "narrow power": lambda: (power.PowerSGDState(None, 1, 2), default_hooks.fp16_compress_wrapper(power.powerSGD_hook)),
    "narrow": lambda: (None, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)),
}  # fmt: skip


def hooked(name):
    module = DDP(network())
    state, hook = HOOKS[name]()
    module.register_comm_hook(state, hook)
    return train(module, 5, 0.02)


for _name in HOOKS:
    CASES[f"hook {_name}"] = lambda name=_name: hooked(name)


@case
def hook_by_name():
    module = DDP(network())
    hooks.register_ddp_comm_hook(hooks.DDPCommHookType.FP16_COMPRESS, module, None)
    return train(module)


def joined(norm=False, synchronised=True, **options):
    module = DDP(network(norm))
    optimizer = m.optim.SGD(module.parameters(), lr=0.1)
    steps = 2 + 3 * rank
    with module.join(**options):
        for step in range(steps):
            optimizer.zero_grad()
            module(batch(step)).square().mean().backward()
            optimizer.step()
    return numbers(module)


CASES["join"] = joined
CASES["join with buffers"] = lambda: joined(True)
CASES["join of those that are left"] = lambda: joined(divide_by_initial_world_size=False)


@case
def join_that_throws():
    return joined(throw_on_early_termination=True)


zero = part("distributed.optim").ZeroRedundancyOptimizer


def shared_out(kind, after=3, **options):
    """Train with a divided optimizer, whose rate changes; save its state, load it into another, go on."""
    module = DDP(network())
    optimizer = zero(module.parameters(), getattr(m.optim, kind), **options)
    seen = []
    for step in range(after):
        optimizer.param_groups[0]["lr"] *= 0.5
        optimizer.zero_grad()
        module(batch(step)).square().mean().backward()
        optimizer.step()
    optimizer.consolidate_state_dict(to=1)
    if rank == 1:
        state = optimizer.state_dict()
        seen = [sorted(state["state"]), state["param_groups"][0]["lr"], state["param_groups"][0]["params"]]
        seen += [sorted(state["state"].get(0, {}))]
    kept = [optimizer.state_dict() if rank == 1 else None]
    d.broadcast_object_list(kept, 1)
    other = zero(module.parameters(), getattr(m.optim, kind), **options)
    other.load_state_dict(kept[0])
    module(batch(9)).square().mean().backward()
    other.step()
    return [seen, numbers(module), [len(group["params"]) for group in other.optim.param_groups]]


CASES["zero sgd"] = lambda: shared_out("SGD", lr=0.1, momentum=0.9)
CASES["zero adam"] = lambda: shared_out("AdamW", lr=0.01)


@case
def zero_with_groups():
    module = DDP(network())
    parameters = list(module.parameters())
    optimizer = zero([{"params": parameters[:2], "lr": 0.5}, {"params": parameters[2:5]}], m.optim.SGD, lr=0.1)
    optimizer.add_param_group({"params": parameters[5:], "lr": 0.01})
    module(batch(0)).square().mean().backward()
    optimizer.step()
    try:
        optimizer.state_dict()
    except RuntimeError as error:
        told = str(error).split("\n")[0].strip()
    return [numbers(module), told, [len(group["params"]) for group in optimizer.optim.param_groups]]


if __name__ == "__main__":
    tell(message=lambda line: line.removeprefix("[rank0]: "))

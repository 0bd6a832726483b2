"""Trainings with `fully_shard`, and checkpoints of them, run by each process of a job: writes down what they hold, in JSON."""

import tempfile

from telling import CASES, case, d, m, nn, numbers, part, rank, size, tell

fsdp, t, checkpoint = part("distributed.fsdp"), part("distributed.tensor"), part("distributed.checkpoint")
states, pipelining = part("distributed.checkpoint.state_dict"), part("distributed.pipelining")


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x):
        return x + m.tanh(self.linear(self.norm(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        m.manual_seed(0)
        self.first, self.layers, self.last = (
            nn.Linear(5, 8),
            nn.ModuleList([Layer(8) for _ in range(3)]),
            nn.Linear(8, 3),
        )

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = layer(x)
        return self.last(x)


def divided(nested=True, **options):
    model = Model()
    for layer in model.layers if nested else ():
        fsdp.fully_shard(layer, **options)
    return fsdp.fully_shard(model, **options)


def batch(step):
    return m.randn(4, 5, generator=m.Generator().manual_seed(100 * step + rank))


def train(model, steps=3, kind="AdamW", **options):
    optimizer = getattr(m.optim, kind)(model.parameters(), lr=0.05, **options)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = model(batch(step)).square().mean()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        losses += [loss.item(), norm.full_tensor().item()]
    return losses, optimizer


FORMS = {
    "nested": {}, "alone": {"nested": False}, "kept": {"reshard_after_forward": False}, "let go": {"reshard_after_forward": True},
    "columns": {"shard_placement_fn": lambda each: t.Shard(1) if each.shape[-1] == 8 and each.dim() > 1 else None},
    "offloaded": {"offload_policy": fsdp.OffloadPolicy()},
}  # fmt: skip
for _name, _options in FORMS.items():

    def _form(options=_options):
        model = divided(**options)
        losses, _ = train(model)
        return [losses, numbers(model), type(model).__name__, isinstance(model, fsdp.FSDPModule)]

    CASES[f"trained {_name}"] = _form


@case
def momentum():
    model = divided()
    losses, _ = train(model, kind="SGD", momentum=0.9)
    return [losses, numbers(model)]


@case
def narrow():
    policy = fsdp.MixedPrecisionPolicy(param_dtype=m.bfloat16, reduce_dtype=m.float32, output_dtype=m.float32)
    model = divided(mp_policy=policy)
    losses, _ = train(model, 2, "SGD")
    return [[round(each, 1) for each in losses], [str(each.dtype) for each in model.parameters()]]


@case
def accumulated():
    model = divided()
    for step in range(3):
        model.set_requires_gradient_sync(step == 2)
        model(batch(step)).square().sum().backward()
    return numbers(model)


@case
def by_hand():
    model = divided()
    before = list(model.last.weight.shape), type(model.last.weight).__name__
    model.unshard()
    inside = list(model.last.weight.shape), isinstance(model.last.weight, t.DTensor)
    model.reshard()
    handle = model.layers[0].unshard(async_op=True)
    handle.wait()
    model.layers[0].reshard()
    model.set_modules_to_forward_prefetch([model.layers[0]])
    return [before, inside, isinstance(model.last.weight, t.DTensor), train(model, 1)[0]]


@case
def replicas():
    if size < 4:
        return None
    mesh = d.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    model = divided(mesh=mesh)
    return [train(model)[0], numbers(model)]


@case
def saved_and_loaded():
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    d.broadcast_object_list(folder)
    model = divided()
    _, optimizer = train(model, 2)
    kept = states.get_model_state_dict(model), states.get_optimizer_state_dict(model, optimizer)
    metadata = checkpoint.save({"model": kept[0], "optimizer": kept[1], "step": 2}, checkpoint_id=folder[0])
    chunks = {
        name: [list(c.offsets) for c in each.chunks]
        for name, each in metadata.state_dict_metadata.items()
        if hasattr(each, "chunks")
    }
    other = divided(nested=False)
    second = m.optim.AdamW(other.parameters(), lr=0.5)
    found = {
        "model": states.get_model_state_dict(other),
        "optimizer": states.get_optimizer_state_dict(other, second),
        "step": 0,
    }
    checkpoint.load(found, checkpoint_id=folder[0])
    states.set_state_dict(other, second, model_state_dict=found["model"], optim_state_dict=found["optimizer"])
    other(batch(5)).square().mean().backward()
    second.step()
    full = states.get_model_state_dict(other, options=states.StateDictOptions(full_state_dict=True, cpu_offload=True))
    whole = states.get_optimizer_state_dict(other, second, options=states.StateDictOptions(full_state_dict=True))
    future = checkpoint.async_save({"model": found["model"]}, checkpoint_id=folder[0] + "/later")
    future.result()
    again = {"model": {name: m.zeros(each.shape) for name, each in found["model"].items()}}
    checkpoint.load(again, checkpoint_id=folder[0] + "/later")
    return [
        chunks, found["step"], second.param_groups[0]["lr"], numbers(other), {name: each.tolist() for name, each in full.items()},
        {name: {key: value.tolist() for key, value in each.items()} for name, each in whole["state"].items()},
        {name: each.tolist() for name, each in again["model"].items()},
    ]  # fmt: skip


@case
def from_the_first():
    model = divided()
    full = {name: each + rank for name, each in Model().state_dict().items()} if rank == 0 else {}
    options = states.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    states.set_model_state_dict(model, full, options=options)
    try:
        checkpoint.load({"x": m.ones(1)}, checkpoint_id="/nonexistent")
    except BaseException as error:
        told = [type(error).__name__, sorted(error.failures)]
    return [numbers(model), told]


def piped(kind, each=1, parts=2, evaluated=False):
    """Three steps of a pipeline with ``each`` stages in a process, over ``parts`` times as many parts of a batch as processes."""
    m.manual_seed(0)
    count = each * size
    widths = [4] + [8] * (2 * count - 1) + [2]
    layers = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Linear(a, b), nn.Tanh())]
    x, y = (m.randn(4 * size, width, generator=m.Generator().manual_seed(width)) for width in (4, 2))
    spec = {str(4 * stage): pipelining.SplitPoint.BEGINNING for stage in range(1, count)}
    pipe = pipelining.pipeline(nn.Sequential(*layers), (x[: 4 // parts],), split_spec=spec)
    stages = [pipe.build_stage(stage, m.device("cpu")) for stage in range(rank, count, size)]
    schedule = getattr(pipelining, kind)(stages[0] if each == 1 else stages, parts * size, loss_fn=nn.MSELoss())
    optimizer = m.optim.SGD([p for stage in stages for p in stage.submod.parameters()], lr=0.1, momentum=0.9)
    seen = [pipe.num_stages]
    for _ in range(3):
        optimizer.zero_grad()
        losses = []
        given = (x,) if rank == 0 else ()
        target = {"target": y, "losses": losses} if rank == size - 1 else {}
        made = schedule.eval(*given, **target) if evaluated else schedule.step(*given, **target)
        seen += [None if made is None else made.tolist(), [each.item() for each in losses]]
        seen.append(
            [(n, p.grad is not None and p.grad.tolist()) for s in stages for n, p in s.submod.named_parameters()]
        )
        optimizer.step()
    return seen


PIPES = {
    "gpipe": ("ScheduleGPipe",), "one forward one backward": ("Schedule1F1B",), "evaluated": ("Schedule1F1B", 1, 2, True),
    "interleaved": ("ScheduleInterleaved1F1B", 2), "interleaved three": ("ScheduleInterleaved1F1B", 3, 4),
    "interleaved once": ("ScheduleInterleaved1F1B", 2, 1), "breadth first": ("ScheduleLoopedBFS", 2, 4),
    "breadth first three": ("ScheduleLoopedBFS", 3, 1),
}  # fmt: skip
for _name, _given in PIPES.items():
    CASES[_name] = lambda given=_given: piped(*given)


@case
def refused_pipes():
    stage = pipelining.PipelineStage(nn.Linear(2, 2), rank, 2 * size, m.device("cpu"))
    with m.no_grad():
        pipelining.ScheduleInterleaved1F1B([stage], 2 * size + 1, loss_fn=nn.MSELoss())


if __name__ == "__main__":
    tell()

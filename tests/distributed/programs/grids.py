"""Trainings with `fully_shard` of what `parallelize_module` has divided, run by each process of a job: writes down what they hold."""

import math
import tempfile

from telling import CASES, case, d, m, nn, numbers, part, rank, size, tell

fsdp, t, checkpoint = part("distributed.fsdp"), part("distributed.tensor"), part("distributed.checkpoint")
states, parallel = part("distributed.checkpoint.state_dict"), part("distributed.tensor.parallel")


class Halves(nn.Module):
    """Layers that `parallelize_module` divides, one behind the other, and two that it leaves to all processes."""

    def __init__(self, width=12):
        super().__init__()
        m.manual_seed(0)
        self.table, self.first, self.norm = nn.Embedding(12, 8), nn.Linear(8, width), nn.LayerNorm(width)
        self.second, self.last = nn.Linear(width, 8, bias=False), nn.Linear(8, 12)

    def forward(self, x):
        return self.last(self.second(m.tanh(self.norm(self.first(self.table(x))))))


def divided_twice(mesh, nested=True, **options):
    plan = {
        "table": parallel.RowwiseParallel(input_layouts=t.Replicate(), output_layouts=t.Shard(1)),
        "first": parallel.ColwiseParallel(input_layouts=t.Shard(1), output_layouts=t.Shard(1)),
        "norm": parallel.SequenceParallel(use_local_output=True),
        "second": parallel.RowwiseParallel(input_layouts=t.Shard(1), output_layouts=t.Shard(1)),
        "last": parallel.ColwiseParallel(input_layouts=t.Shard(1), output_layouts=t.Replicate()),
    }
    # Of 10 rows, two processes have 5, which two others cannot halve; PyTorch has no parts without rows.
    model = parallel.parallelize_module(Halves(12 if mesh["tensor"].size() > 2 else 10), mesh["tensor"], plan)
    own = [each for each in mesh.mesh_dim_names if each != "tensor"]
    data = mesh[own[0]] if len(own) == 1 else mesh[tuple(own)]
    for layer in (model.first, model.second) if nested else ():
        fsdp.fully_shard(layer, mesh=data, **options)
    return fsdp.fully_shard(model, mesh=data, **options), data.get_local_rank(own[-1])


def trained_twice_divided(shape, names, **options):
    model, place = divided_twice(d.init_device_mesh("cpu", shape, mesh_dim_names=names), **options)
    optimizer = m.optim.AdamW(model.parameters(), lr=0.05)
    found = []
    for step in range(3):
        optimizer.zero_grad()
        words = m.randint(12, (4, 8), generator=m.Generator().manual_seed(10 * step + place))
        loss = model(words).square().mean()
        loss.backward()
        found += [loss.item(), nn.utils.clip_grad_norm_(model.parameters(), 0.5).full_tensor().item()]
        optimizer.step()
    whole = states.StateDictOptions(full_state_dict=True, cpu_offload=True)
    kept = states.get_state_dict(model, optimizer, options=whole)
    found.append({name: each.tolist() for name, each in kept[0].items()})
    found.append({name: each["exp_avg"].tolist() for name, each in kept[1].get("state", {}).items()})
    return [found, numbers(model)]


GRIDS = {
    "data and tensor": ((-1, 2), ("data", "tensor"), {}),
    "data and tensor, whole": ((-1, 2), ("data", "tensor"), {"nested": False, "reshard_after_forward": False}),
    "data and all tensor": ((1, -1), ("data", "tensor"), {}),
    "columns and tensor": (
        (-1, 2),
        ("data", "tensor"),
        {"shard_placement_fn": lambda each: t.Shard(1) if each.shape[1:] == (8,) else None},
    ),
    "replicas, data and tensor": ((1, -1, 2), ("replicas", "data", "tensor"), {}),
    "replicas and tensor": ((-1, 1, 2), ("replicas", "data", "tensor"), {}),
}
for _name, (_shape, _names, _options) in GRIDS.items():

    def _grid(shape=_shape, names=_names, options=_options):
        known = -math.prod(shape)
        return trained_twice_divided([size // known if each < 0 else each for each in shape], names, **options)

    CASES[f"trained on {_name}"] = _grid


@case
def twice_divided_saved_and_loaded():
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    d.broadcast_object_list(folder)
    mesh = d.init_device_mesh("cpu", (size // 2, 2), mesh_dim_names=("data", "tensor"))
    model, _ = divided_twice(mesh)
    metadata = checkpoint.save({"model": states.get_model_state_dict(model)}, checkpoint_id=folder[0])
    chunks = {
        name: sorted((list(c.offsets), list(c.sizes)) for c in each.chunks)
        for name, each in metadata.state_dict_metadata.items()
    }
    plain = {"model": {name: m.zeros_like(each) for name, each in Halves(10).state_dict().items()}}
    checkpoint.load(plain, checkpoint_id=folder[0])
    other, _ = divided_twice(d.init_device_mesh("cpu", (size, 1), mesh_dim_names=("data", "tensor")))
    with m.no_grad():
        for each in other.parameters():
            each.zero_()
    found = {"model": states.get_model_state_dict(other)}
    checkpoint.load(found, checkpoint_id=folder[0])
    states.set_model_state_dict(other, found["model"])
    return [chunks, {name: each.tolist() for name, each in plain["model"].items()}, numbers(other)]


@case
def strided():
    mesh = d.init_device_mesh("cpu", (size // 2, 2), mesh_dim_names=("data", "tensor"))
    late = part("distributed.tensor.placement_types")._StridedShard(0, split_factor=2)
    model, _ = divided_twice(mesh)
    weight = model.first.weight.detach()
    moved = [
        weight.redistribute(placements=goal).to_local().tolist()
        for goal in (
            [t.Replicate(), t.Shard(0)],
            [t.Replicate()] * 2,
            [t.Shard(0), t.Shard(1)],
            [t.Shard(1), t.Shard(0)],
        )
    ]
    made = (weight + 1) * weight.abs().sum(1, keepdim=True)
    told = [str(late), repr(late), late.is_shard(), late == t.Shard(0), [repr(each) for each in weight.placements]]
    return [told, moved, made.full_tensor().tolist(), weight.norm().full_tensor().item()]


if __name__ == "__main__":
    tell()

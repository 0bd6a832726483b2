"""Operations on DTensors, run by each process of a job: writes down placements, numbers and gradients, in JSON."""

import math

from telling import CASES, case, d, m, nn, part, rank, size, tell

t, parallel = part("distributed.tensor"), part("distributed.tensor.parallel")
mesh = d.init_device_mesh("cpu", (size,))
F, S, R, P = nn.functional, t.Shard, t.Replicate(), t.Partial()


def numbers(*shape, seed=0):
    return m.randn(*shape, generator=m.Generator().manual_seed(seed + sum(shape)))


def placed(shape, placement, on=None):
    """A DTensor of known numbers; parts of a sum differ from process to process."""
    if placement == P:
        return t.DTensor.from_local(numbers(*shape, seed=rank), mesh, [P])
    return t.distribute_tensor(numbers(*shape), mesh if on is None else on, [placement] if on is None else placement)


def told(value):
    """Placements, shape, strides and the whole numbers of a result."""
    if isinstance(value, (tuple, list)):
        return [told(each) for each in value]
    if isinstance(value, t.DTensor):
        kinds = ["partial" if each.is_partial() else repr(each) for each in value.placements]
        return [kinds, list(value.shape), list(value.to_local().shape), value.full_tensor().tolist()]
    return value.tolist() if isinstance(value, m.Tensor) else value


x, y = placed((8, 6), S(0)), placed((8, 6), S(1))
w, b, p, z = placed((6, 4), R), placed((6,), R), placed((8, 6), P), placed((8, 6), R)
indices = m.tensor([[1, 2], [5, 3], [0, 0], [2, 1]])
CALLS = """
x + y | y + x | x + b | p + p | p + x | x + p | p * 2 | p + 1 | p * b | -p | p / 2 | p - b | x * m.tensor(2.0) | x ** 2 | x > y | x.double()
p.relu() | x.relu() | F.gelu(p) | x.sigmoid() | m.where(x > 0, x, 0.0) | x.masked_fill(x > 0, 0.0) | m.maximum(x, z) | x.clamp(-1, 1)
x @ w | y @ w | z @ w | p @ w | m.matmul(placed((4, 3, 6), S(0)), w) | m.matmul(placed((4, 3, 6), S(2)), placed((6, 4), S(0)))
m.bmm(placed((4, 3, 2), S(0)), placed((4, 2, 3), S(0))) | F.linear(x, w.T.contiguous()) | m.addmm(b, x, placed((6, 6), R)) | x @ b | m.outer(b, b)
x.sum() | x.mean() | x.sum(0) | x.sum(1) | x.mean(0) | x.mean(1, keepdim=True) | x.max() | x.amax(0) | x.amin(1) | p.sum() | p.sum(0) | p.mean()
x.norm() | p.norm() | x.norm(1) | x.norm(float("inf")) | x.var(0) | x.std() | x.argmax(1) | x.argmax(0) | x.max(1)[0] | x.min() | x.prod(1) | x.logsumexp(0)
x.T | x.view(2, 4, 6) | x.view(48) | y.reshape(8, 2, 3) | p.view(48) | x.unsqueeze(1) | y.unsqueeze(0).squeeze(0) | b.expand(8, 6) | x.permute(1, 0)
x[0] | x[:2] | x[:, :2] | p[:2] | m.cat([x, x]) | m.cat([x, y], 1) | x.split(2, 1)[0] | x.split(2, 0)[0] | y.chunk(2, 1)[0] | x.unbind(1)[0] | x.flatten()
x.softmax(1) | x.softmax(0) | x.log_softmax(1) | F.layer_norm(x, (6,)) | F.layer_norm(y, (6,)) | F.layer_norm(x, (6,), b, b) | x.cumsum(0) | x.cumsum(1) | x.sort(1)[0]
m.ones_like(x) | m.zeros_like(p) | x.new_zeros(3) | x.clone() | x.detach() | x.tril() | placed((7, 3), S(0)) + 1 | placed((7, 3), S(0)).sum(0) | placed((1, 3), S(0)) * 2
F.embedding(t.distribute_tensor(indices, mesh, [S(0)]), w) | F.embedding(t.distribute_tensor(indices, mesh, [R]), placed((6, 4), S(1)))
F.conv1d(placed((4, 3, 6), S(0)), placed((4, 3, 3), R)) | x.redistribute(placements=[S(1)]) | x.redistribute(placements=[R]) | p.redistribute(placements=[S(1)])
placed((7, 5), S(0)).redistribute(placements=[S(1)]) | placed((7, 5), S(1)).redistribute(placements=[R]) | x.redistribute(placements=[P]) | m.equal(x, x)
m._foreach_norm([x, y]) | nn.utils.get_total_norm([x, y]) | len(x) | x.stride() | x.T.stride() | x.tolist() | x.numpy() | x + m.ones(8, 6) | t.distribute_tensor(m.ones(4), mesh, [S(2)])
t.distribute_tensor(m.ones(4, 4), mesh, [R, R]) | t.zeros(3, 4, device_mesh=mesh, placements=[S(0)]) | t.full((4,), 2.0, device_mesh=mesh) | t.distribute_tensor(m.ones(8, 6), mesh, [S(-1)])
x.clone().add_(y) | x.clone().mul_(2) | z.clone().add_(x) | x.clone().add_(p) | x.clone().zero_() | x.clone().copy_(z) | p.clone().mul_(2) | x.clone().fill_(3)
""".replace("\n", "|").split("|")  # fmt: skip
for _text in filter(None, map(str.strip, CALLS)):
    CASES[_text] = lambda text=_text: told(eval(text))


def gradients(act, *tensors):
    leaves = [each.detach().requires_grad_() for each in tensors]
    result = act(*leaves)
    (result * result).sum().backward()
    return told([result, *[each.grad for each in leaves]])


table, square, deep = placed((6, 4), R), placed((6, 6), S(0)), placed((4, 6, 6), S(0))
GRADIENTS = {
    "mm": (lambda a, c: a @ c, x, w), "mm of columns": (lambda a, c: a @ c, y, w), "sum with a row": (lambda a, c: a + c, x, b),
    "norm": (lambda a, g, c: F.layer_norm(a, (6,), g, c), x, b, b), "softmax": (lambda a: a.softmax(0), x), "relu": (lambda a: a.relu(), x),
    "linear": (F.linear, x, placed((4, 6), S(0)), placed((4,), S(0))), "linear of rows": (F.linear, y, placed((4, 6), S(1)), placed((4,), R)),
    "moved": (lambda a: a.redistribute(placements=[R]), x), "cut": (lambda a: a.redistribute(placements=[S(0)]), b),
    "embedding": (lambda a: F.embedding(t.distribute_tensor(indices, mesh, [S(0)]), a), table), "batches": (lambda a, c: a @ c, deep, square),
    "views": (lambda a: a.view(2, 4, 6).transpose(0, 1)[:2].reshape(4, 6), x), "mean": (lambda a: a.mean(0), x), "partial": (lambda a: a.sum(0), x),
    "products": (lambda a, c: a * c / (1 + c.exp()), x, y), "gelu": (lambda a: F.gelu(a), x), "max": (lambda a: a.max(1)[0], x),
}  # fmt: skip
for _name, (_act, *_tensors) in GRADIENTS.items():
    _strip = _name in ("linear", "views")  # these lie elsewhere: there is no placement here of parts in stripes
    CASES[f"gradient of {_name}"] = lambda act=_act, tensors=_tensors, strip=_strip: [
        each[3] if strip else each for each in gradients(act, *tensors)
    ]


@case
def local_and_back():
    first, second = x.detach().requires_grad_(), p.detach().requires_grad_()
    (first.to_local() * 2).sum().backward()
    (second.to_local() * 2).sum().backward()
    parts = [m.ones(2, 2, requires_grad=True) for _ in range(3)]
    t.DTensor.from_local(parts[0], mesh, [P]).sum().backward()
    (t.DTensor.from_local(parts[1], mesh, [R]).redistribute(placements=[S(0)]) * 2).sum().backward()
    t.DTensor.from_local(parts[2], mesh, [S(1)]).full_tensor().square().sum().backward()
    whole = w.detach().requires_grad_()
    whole.full_tensor().sum().backward()
    return told([first.grad, second.grad, [each.grad for each in parts], whole.grad])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        m.manual_seed(0)
        self.names, self.norm = nn.Embedding(12, 8), nn.LayerNorm(8)
        self.up, self.down, self.out = nn.Linear(8, 16), nn.Linear(16, 8), nn.Linear(8, 12)

    def forward(self, tokens):
        h = self.names(tokens)
        return self.out(h + self.down(m.relu(self.up(self.norm(h)))))


PLANS = {
    "tensor parallel": lambda: {
        "names": parallel.RowwiseParallel(input_layouts=R), "up": parallel.ColwiseParallel(), "down": parallel.RowwiseParallel(),
        "out": parallel.ColwiseParallel(output_layouts=R),
    },
    "sequence parallel": lambda: {
        "names": parallel.RowwiseParallel(input_layouts=R, output_layouts=S(1), use_local_output=False), "norm": parallel.SequenceParallel(),
        "up": parallel.ColwiseParallel(input_layouts=S(1)), "down": parallel.RowwiseParallel(output_layouts=S(1), use_local_output=False),
        "out": parallel.ColwiseParallel(input_layouts=S(1), output_layouts=R),
    },
}  # fmt: skip


def parallel_training(plan):
    model = parallel.parallelize_module(Block(), mesh, plan())
    optimizer = m.optim.AdamW(model.parameters(), lr=0.05)
    losses = []
    for step in range(3):
        tokens = m.randint(0, 12, (2, 4), generator=m.Generator().manual_seed(step))
        loss = F.cross_entropy(model(tokens).reshape(-1, 12), tokens.flatten())
        loss.backward()
        divided = [each for each in model.parameters() if isinstance(each, t.DTensor)]
        total = nn.utils.clip_grad_norm_(divided, 1.0)
        losses += [loss.item(), total.full_tensor().item()]
        optimizer.step()
        optimizer.zero_grad()
    return [losses, [(n, repr(q.placements), q.full_tensor().tolist()) for n, q in model.named_parameters()]]


for _name, _plan in PLANS.items():
    CASES[_name] = lambda plan=_plan: parallel_training(plan)


@case
def module():
    model = t.distribute_module(nn.Linear(4, 2), mesh)
    return [
        type(model.weight).__name__,
        isinstance(model.weight, nn.Parameter),
        repr(model.weight.placements),
        list(model.state_dict()),
    ]


def shaped(mesh):
    return [repr(mesh), list(mesh.shape), mesh.mesh_dim_names, mesh.get_coordinate(), mesh.mesh.tolist()]


@case
def grids():
    if size < 4:
        return None
    grid = d.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    found = [
        shaped(each) for each in (grid, grid["dp"], grid["tp"], grid["dp", "tp"], grid._flatten("all"), grid["all"])
    ]
    found += [
        grid["dp"] == grid["dp"],
        grid["dp"] == grid["tp"],
        grid.get_local_rank("dp"),
        grid["tp"].get_local_rank(),
    ]
    for wrong in ("x", ("tp", "dp")):
        try:
            grid[wrong]
        except KeyError as error:
            found.append(str(error))
    for placement in ([S(0), S(1)], [S(0), S(0)], [R, S(1)], [S(1), R]):
        one = placed((8, 5), placement, grid)  # of 6 rows, cut twice, PyTorch loses one
        found += [told(one + 1), told(one.sum(0)), told(one.redistribute(placements=[S(1), S(0)])), told(one @ one.T)]
    return found


LOSSES = {
    f"{reduction} {name}": {"reduction": reduction, **options}
    for reduction in ("mean", "sum", "none")
    for name, options in {"": {}, "weight": {"weight": numbers(7).abs()}, "ignored": {"ignore_index": 3}}.items()
}


def divided_loss(options, shape=(5, 7), dtype=m.float32):
    scores = numbers(*shape).to(dtype)
    target = m.arange(math.prod(shape) // 7).reshape(shape[0], *shape[2:]) % 7
    x = t.distribute_tensor(scores, mesh, [S(1)]).requires_grad_()
    with parallel.loss_parallel():
        loss = F.cross_entropy(x, target, **options)
        loss.sum().backward()
    return [told(loss), told(x.grad), str(loss.dtype)]


for _name, _options in LOSSES.items():
    CASES[f"loss {_name}"] = lambda options=_options: divided_loss(options)
CASES["loss of images"] = lambda: divided_loss({}, (2, 7, 3))


@case
def losses_on_grids():
    if size < 4:
        return None
    grid = d.init_device_mesh("cpu", (2, 2))
    found = []
    for kinds in ([S(0), S(1)], [R, S(1)], [S(1), R]):
        x = t.distribute_tensor(numbers(4, 7), grid, kinds).requires_grad_()
        target = t.distribute_tensor(m.arange(4), grid, [R if each == S(1) else each for each in kinds])
        with parallel.loss_parallel():
            loss = F.cross_entropy(x, target, reduction="sum")
            loss.backward()
        found += [told(loss), told(x.grad)]
    return found


@case
def losses_refused():
    found = []
    for kinds, options in (([S(0)], {}), ([P], {}), ([R], {"reduction": "sum"})):
        try:
            with parallel.loss_parallel():
                F.cross_entropy(placed((5, 7), *kinds), m.arange(5), **options)
        except Exception as error:
            found.append([type(error).__name__, str(error).split("\n")[0]])
    return found


if __name__ == "__main__":
    tell()

"""Operations on a few numbers: what a call costs beside PyTorch, forward, and forward with backward.

    python benchmarks/small_operations.py                     # some 300 rows, a minute
    python benchmarks/small_operations.py --only "gather" "sum, backward"

Most operands are float32 of shape (4, 8); times are those of `side_by_side`.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
from side_by_side import survey, with_backward


def operands(torch):
    """The tensors that the rows below are calls of."""
    made = SimpleNamespace(F=torch.nn.functional, torch=torch)
    torch.manual_seed(0)
    made.a, made.b = torch.randn(4, 8), torch.randn(4, 8)
    made.positive, made.mask = made.a.abs() + 0.1, made.a > 0
    made.vector, made.square = torch.randn(8), torch.randn(8, 8)
    made.regular = made.square @ made.square.T + torch.eye(8)
    made.batch, made.other_batch = torch.randn(2, 4, 8), torch.randn(2, 8, 8)
    made.images, made.filters = torch.randn(1, 2, 8, 8), torch.randn(3, 2, 3, 3)
    made.filters1d = torch.randn(3, 4, 3)
    made.rows, made.columns = torch.randint(0, 4, (4,)), torch.randint(0, 8, (4, 3))
    made.ints, made.classes = torch.randint(0, 9, (4, 8)), torch.randint(0, 8, (4,))
    made.complexes = torch.randn(4, dtype=torch.complex64)
    made.number, made.array = torch.tensor(2.0), np.zeros(4, np.float32)
    return made


ELEMENTWISE = {
    "add": lambda o: o.a + o.b,
    "sub": lambda o: o.a - o.b,
    "mul": lambda o: o.a * o.b,
    "div": lambda o: o.a / o.b,
    "neg": lambda o: -o.a,
    "add number": lambda o: o.a + 1,
    "mul number": lambda o: o.a * 2.5,
    "number - tensor": lambda o: 1 - o.a,
    "pow 2": lambda o: o.a**2,
    "pow -1": lambda o: o.positive**-1,
    "==": lambda o: o.a == o.b,
    "> number": lambda o: o.a > 0,
    "masks and": lambda o: o.mask & o.mask,
    "mask not": lambda o: ~o.mask,
    "int // number": lambda o: o.ints // 2,
    "int % number": lambda o: o.ints % 3,
    "int add": lambda o: o.ints + o.ints,
    "int + float": lambda o: o.ints + o.a,
    "add_": lambda o: o.a.add_(0),
    "mul_": lambda o: o.a.mul_(1.0),
    "add_ alpha": lambda o: o.a.add_(o.b, alpha=0.0),
    "addcmul_": lambda o: o.a.addcmul_(o.b, o.b, value=0.0),
    "lerp": lambda o: o.torch.lerp(o.a, o.b, 0.5),
    "where": lambda o: o.torch.where(o.mask, o.a, o.b),
    "where number": lambda o: o.torch.where(o.mask, o.a, 0.0),
    "clamp": lambda o: o.a.clamp(0, 1),
    "clamp min": lambda o: o.a.clamp(min=0),
    "maximum": lambda o: o.torch.maximum(o.a, o.b),
    "exp": lambda o: o.a.exp(),
    "log": lambda o: o.positive.log(),
    "sqrt": lambda o: o.positive.sqrt(),
    "rsqrt": lambda o: o.positive.rsqrt(),
    "abs": lambda o: o.a.abs(),
    "sign": lambda o: o.a.sign(),
    "sin": lambda o: o.a.sin(),
    "tanh": lambda o: o.a.tanh(),
    "sigmoid": lambda o: o.a.sigmoid(),
    "relu": lambda o: o.F.relu(o.a),
    "gelu": lambda o: o.F.gelu(o.a),
    "silu": lambda o: o.F.silu(o.a),
    "leaky_relu": lambda o: o.F.leaky_relu(o.a, 0.1),
    "elu": lambda o: o.F.elu(o.a),
    "softplus": lambda o: o.F.softplus(o.a),
    "logsigmoid": lambda o: o.F.logsigmoid(o.a),
    "erf": lambda o: o.a.erf(),
    "reciprocal": lambda o: o.positive.reciprocal(),
    "square": lambda o: o.a.square(),
    "round": lambda o: o.a.round(),
    "isnan": lambda o: o.a.isnan(),
    "isfinite": lambda o: o.a.isfinite(),
    "complex mul": lambda o: o.complexes * o.complexes,
}

REDUCTIONS = {
    "sum": lambda o: o.a.sum(),
    "sum dim": lambda o: o.a.sum(1),
    "sum keepdim": lambda o: o.a.sum(-1, keepdim=True),
    "mean": lambda o: o.a.mean(),
    "mean dim": lambda o: o.a.mean(0),
    "max": lambda o: o.a.max(),
    "max dim": lambda o: o.a.max(1),
    "argmax": lambda o: o.a.argmax(1),
    "min": lambda o: o.a.min(),
    "var": lambda o: o.a.var(),
    "std dim": lambda o: o.a.std(1),
    "var_mean": lambda o: o.torch.var_mean(o.a, 1),
    "norm": lambda o: o.a.norm(),
    "prod": lambda o: o.a.prod(),
    "all": lambda o: o.mask.all(),
    "any": lambda o: o.mask.any(),
    "count_nonzero": lambda o: o.a.count_nonzero(),
    "cumsum": lambda o: o.a.cumsum(1),
    "logsumexp": lambda o: o.a.logsumexp(1),
    "softmax": lambda o: o.a.softmax(1),
    "log_softmax": lambda o: o.F.log_softmax(o.a, 1),
    "topk": lambda o: o.a.topk(2),
    "sort": lambda o: o.a.sort(),
    "argsort": lambda o: o.a.argsort(),
    "median": lambda o: o.a.median(),
    "unique": lambda o: o.ints.unique(),
    "nonzero": lambda o: o.mask.nonzero(),
    "allclose": lambda o: o.torch.allclose(o.a, o.b),
    "equal": lambda o: o.torch.equal(o.a, o.b),
}

SHAPES = {
    "reshape": lambda o: o.a.reshape(8, 4),
    "view": lambda o: o.a.view(-1),
    "flatten": lambda o: o.batch.flatten(1),
    "t": lambda o: o.a.t(),
    "T": lambda o: o.a.T,
    "transpose": lambda o: o.a.transpose(0, 1),
    "permute": lambda o: o.batch.permute(2, 0, 1),
    "unsqueeze": lambda o: o.a.unsqueeze(0),
    "squeeze": lambda o: o.a.squeeze(),
    "expand": lambda o: o.vector.expand(4, 8),
    "repeat": lambda o: o.vector.repeat(4, 1),
    "contiguous": lambda o: o.a.contiguous(),
    "t contiguous": lambda o: o.a.t().contiguous(),
    "chunk": lambda o: o.a.chunk(2, 1),
    "split": lambda o: o.a.split(2),
    "unbind": lambda o: o.a.unbind(0),
    "narrow": lambda o: o.a.narrow(1, 0, 4),
    "cat": lambda o: o.torch.cat([o.a, o.b]),
    "cat dim 1": lambda o: o.torch.cat([o.a, o.b], 1),
    "stack": lambda o: o.torch.stack([o.a, o.b]),
    "flip": lambda o: o.a.flip(0),
    "roll": lambda o: o.a.roll(1, 0),
    "tril": lambda o: o.square.tril(),
    "diag": lambda o: o.vector.diag(),
    "diagonal": lambda o: o.square.diagonal(),
    "clone": lambda o: o.a.clone(),
    "detach": lambda o: o.a.detach(),
    "to same dtype": lambda o: o.a.to(o.torch.float32),
    "to float64": lambda o: o.a.to(o.torch.float64),
    "int to float": lambda o: o.ints.float(),
    "float to int": lambda o: o.a.long(),
    "half": lambda o: o.a.half(),
    "type_as": lambda o: o.ints.type_as(o.a),
    "pad": lambda o: o.F.pad(o.a, (1, 1)),
    "meshgrid": lambda o: o.torch.meshgrid(o.vector, o.vector, indexing="ij"),
}

INDEXING = {
    "x[0]": lambda o: o.a[0],
    "x[0, 1]": lambda o: o.a[0, 1],
    "x[:, 1]": lambda o: o.a[:, 1],
    "x[1:3]": lambda o: o.a[1:3],
    "x[..., None]": lambda o: o.a[..., None],
    "x[index]": lambda o: o.a[o.rows],
    "x[mask]": lambda o: o.a[o.mask],
    "x[i, j]": lambda o: o.a[o.rows, o.rows],
    "x[0] = number": lambda o: o.a.__setitem__(0, 1.0),
    "x[0] = row": lambda o: o.a.__setitem__(0, o.vector),
    "x[mask] = number": lambda o: o.a.__setitem__(o.mask, 1.0),
    "gather": lambda o: o.a.gather(1, o.columns),
    "scatter": lambda o: o.a.scatter(1, o.columns, 1.0),
    "scatter_add": lambda o: o.a.scatter_add(1, o.columns, o.b[:, :3]),
    "index_select": lambda o: o.a.index_select(0, o.rows),
    "index_add": lambda o: o.a.index_add(0, o.rows, o.b),
    "take": lambda o: o.a.take(o.rows),
    "masked_fill": lambda o: o.a.masked_fill(o.mask, 0.0),
    "masked_select": lambda o: o.a.masked_select(o.mask),
    "one_hot": lambda o: o.F.one_hot(o.classes, 8),
    "embedding": lambda o: o.F.embedding(o.rows, o.square),
    "item": lambda o: o.number.item(),
    "tolist": lambda o: o.vector.tolist(),
    "numpy": lambda o: o.a.numpy(),
    "float()": lambda o: float(o.number),
    "bool()": lambda o: bool(o.number),
    "len": lambda o: len(o.a),
    "shape": lambda o: o.a.shape,
    "size(0)": lambda o: o.a.size(0),
    "dim": lambda o: o.a.dim(),
    "numel": lambda o: o.a.numel(),
    "dtype": lambda o: o.a.dtype,
    "device": lambda o: o.a.device,
    "iteration": lambda o: list(o.a),
    "repr": lambda o: repr(o.vector),
}

CREATION = {
    "zeros": lambda o: o.torch.zeros(4, 8),
    "ones": lambda o: o.torch.ones(4),
    "full": lambda o: o.torch.full((4, 8), 1.0),
    "empty": lambda o: o.torch.empty(4, 8),
    "zeros_like": lambda o: o.torch.zeros_like(o.a),
    "randn": lambda o: o.torch.randn(4, 8),
    "rand": lambda o: o.torch.rand(4, 8),
    "randint": lambda o: o.torch.randint(0, 9, (4, 8)),
    "randperm": lambda o: o.torch.randperm(8),
    "randn_like": lambda o: o.torch.randn_like(o.a),
    "normal": lambda o: o.torch.normal(0.0, 1.0, (4,)),
    "bernoulli": lambda o: o.torch.bernoulli(o.torch.rand(4)),
    "multinomial": lambda o: o.torch.multinomial(o.positive, 1),
    "manual_seed": lambda o: o.torch.manual_seed(0),
    "arange": lambda o: o.torch.arange(8),
    "linspace": lambda o: o.torch.linspace(0, 1, 8),
    "eye": lambda o: o.torch.eye(4),
    "tensor of a list": lambda o: o.torch.tensor([1.0, 2.0, 3.0]),
    "tensor of a number": lambda o: o.torch.tensor(1.0),
    "from_numpy": lambda o: o.torch.from_numpy(o.array),
    "as_tensor": lambda o: o.torch.as_tensor(o.array),
    "no_grad": lambda o: o.torch.no_grad().__enter__() or o.torch.set_grad_enabled(True),
}

NETWORKS = {
    "dropout": lambda o: o.F.dropout(o.a, 0.5),
    "linear": lambda o: o.F.linear(o.a, o.square, o.vector),
    "mse_loss": lambda o: o.F.mse_loss(o.a, o.b),
    "l1_loss": lambda o: o.F.l1_loss(o.a, o.b),
    "smooth_l1_loss": lambda o: o.F.smooth_l1_loss(o.a, o.b),
    "cross_entropy": lambda o: o.F.cross_entropy(o.a, o.classes),
    "nll_loss": lambda o: o.F.nll_loss(o.a, o.classes),
    "binary_cross_entropy": lambda o: o.F.binary_cross_entropy(o.positive.clamp(max=0.9), o.mask.float()),
    "bce with logits": lambda o: o.F.binary_cross_entropy_with_logits(o.a, o.b),
    "kl_div": lambda o: o.F.kl_div(o.a, o.positive, reduction="batchmean"),
    "cosine_similarity": lambda o: o.F.cosine_similarity(o.a, o.b),
    "normalize": lambda o: o.F.normalize(o.a),
    "layer_norm": lambda o: o.F.layer_norm(o.a, (8,), o.vector, o.vector),
    "batch_norm": lambda o: o.F.batch_norm(o.a, None, None, o.vector, o.vector, True),
    "group_norm": lambda o: o.F.group_norm(o.images, 1),
    "conv2d": lambda o: o.F.conv2d(o.images, o.filters),
    "conv1d": lambda o: o.F.conv1d(o.batch, o.filters1d),
    "max_pool2d": lambda o: o.F.max_pool2d(o.images, 2),
    "avg_pool2d": lambda o: o.F.avg_pool2d(o.images, 2),
    "adaptive_avg_pool2d": lambda o: o.F.adaptive_avg_pool2d(o.images, 1),
    "interpolate": lambda o: o.F.interpolate(o.images, scale_factor=2),
    "unfold": lambda o: o.F.unfold(o.images, 3),
    "attention": lambda o: o.F.scaled_dot_product_attention(o.batch, o.batch, o.batch),
}

LINEAR_ALGEBRA = {
    "matrix @ matrix": lambda o: o.a @ o.square,
    "matrix @ vector": lambda o: o.square @ o.vector,
    "vector @ vector": lambda o: o.vector @ o.vector,
    "batch @ matrix": lambda o: o.batch @ o.square,
    "addmm": lambda o: o.torch.addmm(o.a, o.a, o.square),
    "baddbmm": lambda o: o.torch.baddbmm(o.batch, o.batch, o.other_batch),
    "einsum": lambda o: o.torch.einsum("ij,kj->ik", o.a, o.b),
    "outer": lambda o: o.torch.outer(o.vector, o.vector),
    "cdist": lambda o: o.torch.cdist(o.a, o.b),
    "trace": lambda o: o.square.trace(),
    "inv": lambda o: o.torch.linalg.inv(o.regular),
    "det": lambda o: o.torch.det(o.square),
    "solve": lambda o: o.torch.linalg.solve(o.regular, o.vector),
    "svd": lambda o: o.torch.linalg.svd(o.square),
    "cholesky": lambda o: o.torch.linalg.cholesky(o.regular),
    "fft": lambda o: o.torch.fft.fft(o.vector),
}

# (operands whose gradients are computed, function of the others and of them)
GRADIENTS = {
    "add": ("a b", lambda o, x, y: x + y),
    "mul": ("a b", lambda o, x, y: x * y),
    "div": ("a positive", lambda o, x, y: x / y),
    "broadcast add": ("a vector", lambda o, x, y: x + y),
    "pow 2": ("a", lambda o, x: x**2),
    "exp": ("a", lambda o, x: x.exp()),
    "log": ("positive", lambda o, x: x.log()),
    "sqrt": ("positive", lambda o, x: x.sqrt()),
    "abs": ("a", lambda o, x: x.abs()),
    "tanh": ("a", lambda o, x: x.tanh()),
    "sigmoid": ("a", lambda o, x: x.sigmoid()),
    "relu": ("a", lambda o, x: x.relu()),
    "gelu": ("a", lambda o, x: o.F.gelu(x)),
    "silu": ("a", lambda o, x: o.F.silu(x)),
    "softplus": ("a", lambda o, x: o.F.softplus(x)),
    "where": ("a b", lambda o, x, y: o.torch.where(o.mask, x, y)),
    "clamp": ("a", lambda o, x: x.clamp(0, 1)),
    "sum": ("a", lambda o, x: x.sum()),
    "mean dim": ("a", lambda o, x: x.mean(1)),
    "max": ("a", lambda o, x: x.max()),
    "max dim": ("a", lambda o, x: x.max(1).values),
    "var": ("a", lambda o, x: x.var()),
    "std dim": ("a", lambda o, x: x.std(1)),
    "norm": ("a", lambda o, x: x.norm()),
    "prod": ("a", lambda o, x: x.prod()),
    "cumsum": ("a", lambda o, x: x.cumsum(1)),
    "logsumexp": ("a", lambda o, x: x.logsumexp(1)),
    "softmax": ("a", lambda o, x: x.softmax(1)),
    "log_softmax": ("a", lambda o, x: o.F.log_softmax(x, 1)),
    "normalize": ("a", lambda o, x: o.F.normalize(x)),
    "cat": ("a b", lambda o, x, y: o.torch.cat([x, y], 1)),
    "stack": ("a b", lambda o, x, y: o.torch.stack([x, y])),
    "chunk": ("a", lambda o, x: o.torch.mul(*x.chunk(2, 1))),
    "reshape": ("a", lambda o, x: x.reshape(-1)),
    "expand": ("vector", lambda o, x: x.expand(4, 8)),
    "unsqueeze": ("a", lambda o, x: x.unsqueeze(0)),
    "permute": ("batch", lambda o, x: x.permute(2, 0, 1)),
    "pad": ("a", lambda o, x: o.F.pad(x, (1, 1))),
    "clone": ("a", lambda o, x: x.clone()),
    "to float64": ("a", lambda o, x: x.double()),
    "x[0]": ("a", lambda o, x: x[0]),
    "x[:, 1]": ("a", lambda o, x: x[:, 1]),
    "x[index]": ("a", lambda o, x: x[o.rows]),
    "x[mask]": ("a", lambda o, x: x[o.mask]),
    "gather": ("a", lambda o, x: x.gather(1, o.columns)),
    "embedding": ("square", lambda o, x: o.F.embedding(o.rows, x)),
    "matrix @ matrix": ("a square", lambda o, x, y: x @ y),
    "x.t() @ x": ("a", lambda o, x: x.t() @ x),
    "einsum": ("a b", lambda o, x, y: o.torch.einsum("ij,kj->ik", x, y)),
    "det": ("square", lambda o, x: o.torch.det(x)),
    "inv": ("regular", lambda o, x: o.torch.linalg.inv(x)),
    "linear": ("a square vector", lambda o, x, w, b: o.F.linear(x, w, b)),
    "layer_norm": ("a", lambda o, x: o.F.layer_norm(x, (8,), o.vector, o.vector)),
    "batch_norm": ("a", lambda o, x: o.F.batch_norm(x, None, None, o.vector, o.vector, True)),
    "dropout": ("a", lambda o, x: o.F.dropout(x, 0.5)),
    "conv2d": ("images filters", lambda o, x, w: o.F.conv2d(x, w)),
    "max_pool2d": ("images", lambda o, x: o.F.max_pool2d(x, 2)),
    "avg_pool2d": ("images", lambda o, x: o.F.avg_pool2d(x, 2)),
    "attention": ("batch", lambda o, x: o.F.scaled_dot_product_attention(x, x, x)),
    "cross_entropy": ("a", lambda o, x: o.F.cross_entropy(x, o.classes)),
    "mse_loss": ("a", lambda o, x: o.F.mse_loss(x, o.b)),
    "l1_loss": ("a", lambda o, x: o.F.l1_loss(x, o.b)),
    "bce with logits": ("a", lambda o, x: o.F.binary_cross_entropy_with_logits(x, o.b)),
    "kl_div": ("a", lambda o, x: o.F.kl_div(x, o.positive, reduction="batchmean")),
}

# (operand, how the module is made)
MODULES = {
    "Linear": ("a", lambda nn: nn.Linear(8, 8)),
    "ReLU": ("a", lambda nn: nn.ReLU()),
    "GELU": ("a", lambda nn: nn.GELU()),
    "Softmax": ("a", lambda nn: nn.Softmax(1)),
    "Dropout, evaluating": ("a", lambda nn: nn.Dropout().eval()),
    "BatchNorm1d": ("a", lambda nn: nn.BatchNorm1d(8)),
    "LayerNorm": ("a", lambda nn: nn.LayerNorm(8)),
    "Flatten": ("batch", lambda nn: nn.Flatten()),
    "Embedding": ("rows", lambda nn: nn.Embedding(8, 4)),
    "Conv2d": ("images", lambda nn: nn.Conv2d(2, 3, 3)),
    "MaxPool2d": ("images", lambda nn: nn.MaxPool2d(2)),
    "Sequential": ("a", lambda nn: nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))),
    "GRUCell": ("a", lambda nn: nn.GRUCell(8, 8)),
    "LSTMCell": ("a", lambda nn: nn.LSTMCell(8, 8)),
    "LSTM": ("batch", lambda nn: nn.LSTM(8, 8)),
    "TransformerEncoderLayer": ("batch", lambda nn: nn.TransformerEncoderLayer(8, 2, 16)),
}

OPTIMIZERS = {
    "SGD": lambda optim, params: optim.SGD(params, 0.1),
    "SGD, momentum": lambda optim, params: optim.SGD(params, 0.1, momentum=0.9),
    "Adam": lambda optim, params: optim.Adam(params),
    "AdamW": lambda optim, params: optim.AdamW(params),
    "RMSprop": lambda optim, params: optim.RMSprop(params),
    "Adagrad": lambda optim, params: optim.Adagrad(params),
}


def _call(function, torch):
    return functools.partial(function, operands(torch))


def _forward_and_backward(names, function, torch):
    return with_backward(function, operands(torch), names, torch)


def _module(name, make, torch):
    operand = getattr(operands(torch), name)
    return functools.partial(make(torch.nn), operand)


def _attention_module(torch):
    x = operands(torch).batch
    return functools.partial(torch.nn.MultiheadAttention(8, 2), x, x, x)


def _parameters(torch):
    parameters = [torch.randn(4, 8, requires_grad=True) for _ in range(4)]
    for parameter in parameters:
        parameter.grad = torch.randn(4, 8)
    return parameters


def _optimizer(make, torch):
    return make(torch.optim, _parameters(torch)).step


def _clip(torch):
    return functools.partial(torch.nn.utils.clip_grad_norm_, _parameters(torch), 1.0)


def workloads():
    """All rows by name."""
    rows = {}
    for family in (ELEMENTWISE, REDUCTIONS, SHAPES, INDEXING, CREATION, NETWORKS, LINEAR_ALGEBRA):
        rows |= {name: functools.partial(_call, function) for name, function in family.items()}
    for name, (leaves, function) in GRADIENTS.items():
        rows[f"{name}, backward"] = functools.partial(_forward_and_backward, leaves, function)
    for name, (operand, make) in MODULES.items():
        rows[f"nn.{name}"] = functools.partial(_module, operand, make)
    rows["nn.MultiheadAttention"] = _attention_module
    for name, make in OPTIMIZERS.items():
        rows[f"{name}, step"] = functools.partial(_optimizer, make)
    rows["clip_grad_norm_"] = _clip
    return rows


if __name__ == "__main__":
    survey(__file__, __doc__, workloads(), spell=0.01)

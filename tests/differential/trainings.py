"""Random networks with random optimizers and schedulers, trained some steps from one seed by both libraries."""

from __future__ import annotations

from random import Random

import torch
from libraries import Raised, attempt, difference

import rushlight as rl

STEPS = 4
_SCRATCH = ("al",)  # numbers of an L-BFGS step that the next one does not read
ACTIVATIONS = [
    "ReLU",
    "LeakyReLU",
    "ELU",
    "SELU",
    "CELU",
    "GELU",
    "SiLU",
    "Mish",
    "Softplus",
    "Softsign",
    "Tanh",
    "Sigmoid",
    "Hardswish",
    "Hardsigmoid",
    "Hardtanh",
    "ReLU6",
    "LogSigmoid",
    "Softshrink",
    "Hardshrink",
    "Tanhshrink",
    "PReLU",
    "RReLU",
    "Threshold",
    "Softmax",
    "LogSoftmax",
    "Softmin",
    "GLU",
    "Identity",
]


def _activation(r):
    name = r.choice(ACTIVATIONS)
    options = {
        "LeakyReLU": {"negative_slope": r.choice((0.01, 0.3, 0.0))},
        "ELU": {"alpha": r.choice((1.0, 0.5))},
        "GELU": {"approximate": r.choice(("none", "tanh"))},
        "Softplus": {"beta": r.choice((1, 2.5)), "threshold": r.choice((20, 1))},
        "Threshold": {"threshold": 0.1, "value": r.choice((0.0, -1.0))},
        **{each: {"dim": -1} for each in ("Softmax", "LogSoftmax", "Softmin")},
    }
    return name, options.get(name, {})


def _vectors(r):
    """(shape of a batch, a chain of layers) on vectors."""
    width, layers = r.choice((1, 3, 7, 16, 33, 100)), []
    shape = (r.choice((2, 5, 32)), width)
    for _ in range(r.randint(1, 4)):
        kind = r.choice(
            ("Linear", "Linear", "activation", "BatchNorm1d", "LayerNorm", "GroupNorm", "Dropout", "RMSNorm")
        )
        if kind == "Linear":
            new = r.choice((1, 4, 10, 64, 130))
            layers.append((kind, {"in_features": width, "out_features": new, "bias": r.random() < 0.8}))
            width = new
        elif kind == "activation":
            layers.append(_activation(r))
            if layers[-1][0] == "GLU":
                layers[-1] = ("Linear", {"in_features": width, "out_features": width})
        elif kind == "BatchNorm1d":
            layers.append(
                (kind, {"num_features": width, "momentum": r.choice((0.1, None)), "affine": r.random() < 0.8})
            )
        elif kind in ("LayerNorm", "RMSNorm"):
            layers.append((kind, {"normalized_shape": width, "elementwise_affine": r.random() < 0.8}))
        elif kind == "GroupNorm":
            groups = r.choice([n for n in (1, 2, 4) if width % n == 0])
            layers.append((kind, {"num_groups": groups, "num_channels": width}))
        else:
            layers.append((kind, {"p": r.choice((0.0, 0.3, 0.5))}))
    return shape, layers


def _images(r):
    """The same on signals, images and volumes."""
    dims = r.choice((1, 2, 2, 2, 3))
    channels, size = r.choice((1, 3, 8)), r.choice((5, 8, 12)) if dims == 3 else r.choice((7, 12, 28))
    shape, layers = (r.choice((1, 2, 8)), channels, *[size] * dims), []
    for _ in range(r.randint(1, 4)):
        kind = r.choice(
            ("Conv", "Conv", "ConvTranspose", "MaxPool", "AvgPool", "BatchNorm", "activation", "Adaptive", "other")
        )
        if kind in ("Conv", "ConvTranspose"):
            new, groups = r.choice((2, 8, 16)), r.choice((1, 1, 2))
            groups = groups if channels % groups == 0 else 1
            options = {
                "in_channels": channels,
                "out_channels": new,
                "kernel_size": r.choice((1, 2, 3, 5)),
                "stride": r.choice((1, 1, 2)),
                "padding": r.choice((0, 1, 2)),
                "dilation": r.choice((1, 1, 2)),
                "groups": groups,
                "bias": r.random() < 0.8,
            }
            if kind == "Conv":
                options["padding_mode"] = r.choice(("zeros", "zeros", "reflect", "replicate", "circular"))
            layers.append((f"{kind}{dims}d", options))
            channels = new
        elif kind == "MaxPool":
            layers.append(
                (
                    f"MaxPool{dims}d",
                    {
                        "kernel_size": r.choice((2, 3)),
                        "stride": r.choice((1, 2)),
                        "padding": r.choice((0, 1)),
                        "ceil_mode": r.random() < 0.3,
                    },
                )
            )
        elif kind == "AvgPool":
            layers.append(
                (
                    f"AvgPool{dims}d",
                    {
                        "kernel_size": r.choice((2, 3)),
                        "stride": r.choice((1, 2)),
                        "count_include_pad": r.random() < 0.5,
                    },
                )
            )
        elif kind == "BatchNorm":
            name = r.choice((f"BatchNorm{dims}d", f"InstanceNorm{dims}d"))
            layers.append(
                (name, {"num_features": channels, "affine": r.random() < 0.7, "track_running_stats": r.random() < 0.6})
            )
        elif kind == "Adaptive":
            layers.append((f"Adaptive{r.choice(('Avg', 'Max'))}Pool{dims}d", {"output_size": r.choice((1, 3, 4))}))
        elif kind == "activation":
            layers.append(_activation(r))
            if layers[-1][0] == "GLU":
                layers.pop()
        else:
            layers.append(
                r.choice((
                    (f"Dropout{dims}d", {"p": 0.4}),
                    ("GroupNorm", {"num_groups": 1, "num_channels": channels}),
                    ("Upsample", {"scale_factor": 2, "mode": r.choice(("nearest", {1: "linear", 2: "bilinear", 3: "trilinear"}[dims]))}),
                    (f"ReplicationPad{dims}d", {"padding": 1}),
                    (f"ConstantPad{dims}d", {"padding": 2, "value": 0.5}),
                    ("LocalResponseNorm", {"size": 2}),
                    (f"LPPool{dims}d", {"norm_type": 2, "kernel_size": 2}),
                ))
            )  # fmt: skip
    return shape, [*layers, ("Flatten", {})]


def _sequences(r):
    """The same on sequences."""
    width, length, batch = r.choice((4, 16)), r.choice((1, 5, 12)), r.choice((1, 3, 8))
    kind = r.choice(("LSTM", "GRU", "RNN", "TransformerEncoderLayer", "MultiheadAttention", "Embedding"))
    first = r.random() < 0.5
    shape = (batch, length, width) if first else (length, batch, width)
    if kind in ("LSTM", "GRU", "RNN"):
        options = {
            "input_size": width,
            "hidden_size": r.choice((3, 16, 40)),
            "num_layers": r.choice((1, 2)),
            "bidirectional": r.random() < 0.4,
            "batch_first": first,
            "bias": r.random() < 0.8,
        }
        if kind == "LSTM" and r.random() < 0.2:
            options["proj_size"] = 2
        if kind == "RNN":
            options["nonlinearity"] = r.choice(("tanh", "relu"))
        return shape, [(kind, options)]
    if kind == "TransformerEncoderLayer":
        options = {
            "d_model": width,
            "nhead": r.choice((1, 2, 4)),
            "dim_feedforward": 24,
            "dropout": r.choice((0.0, 0.2)),
            "activation": r.choice(("relu", "gelu")),
            "batch_first": first,
            "norm_first": r.random() < 0.5,
        }
        return shape, [(kind, options)]
    if kind == "MultiheadAttention":
        return shape, [(kind, {"embed_dim": width, "num_heads": r.choice((1, 2)), "batch_first": first})]
    options = {"num_embeddings": 11, "embedding_dim": width, "padding_idx": r.choice((None, 0))}
    return (batch, length), [(kind, options), ("Linear", {"in_features": width, "out_features": 5})]


def _optimizer(r):
    """(name, options) of an optimizer."""
    name = r.choice(
        [
            "SGD",
            "Adam",
            "AdamW",
            "RMSprop",
            "Adagrad",
            "Adadelta",
            "Adamax",
            "NAdam",
            "RAdam",
            "ASGD",
            "Rprop",
            "LBFGS",
            "Adafactor",
        ]
    )
    options = {"lr": r.choice((0.1, 0.01, 1e-3))}
    if r.random() < 0.3 and name not in ("Rprop", "LBFGS"):
        options["weight_decay"] = r.choice((0.1, 0.01))
    if name not in ("LBFGS", "Adafactor") and r.random() < 0.3:
        options["maximize"] = True
    if name in ("Adam", "AdamW"):
        options |= {"amsgrad": r.random() < 0.3, "betas": r.choice(((0.9, 0.999), (0.5, 0.9)))}
    if name == "SGD":
        options |= {"momentum": r.choice((0, 0.9))}
        if options["momentum"]:
            options |= r.choice(({"nesterov": True}, {"dampening": 0.1}, {}))
    if name == "RMSprop":
        options |= {"momentum": r.choice((0, 0.5)), "centered": r.random() < 0.5}
    if name == "LBFGS":
        options |= {"max_iter": 3}  # a line search ends early or late by a rounding
    if name not in ("LBFGS", "Adafactor"):
        options |= r.choice(({}, {"foreach": True}, {"foreach": False}))
    return name, options


def _scheduler(r):
    """(name, options) of a learning rate scheduler, or None."""
    return r.choice((
        None,
        ("StepLR", {"step_size": 2, "gamma": 0.5}),
        ("ExponentialLR", {"gamma": 0.9}),
        ("CosineAnnealingLR", {"T_max": 3}),
        ("LinearLR", {"total_iters": 3}),
        ("OneCycleLR", {"max_lr": 0.1, "total_steps": 6, "cycle_momentum": False}),
        ("PolynomialLR", {"total_iters": 4, "power": 2.0}),
        ("CosineAnnealingWarmRestarts", {"T_0": 2}),
        ("MultiplicativeLR", {"lr_lambda": lambda step: 0.9}),
    ))  # fmt: skip


def _with_one_norm(layers):
    """``layers`` without a second norm, which has gradients of 0 but for rounding, and without norms of single numbers."""
    kept = []
    for name, options in layers:
        single = 1 in (options.get("num_features"), options.get("normalized_shape")) or (
            name == "GroupNorm" and options["num_groups"] == options["num_channels"]
        )
        if "Norm" in name and (single or any("Norm" in other for other, _ in kept)):
            continue
        kept.append((name, options))
    return kept


def drawn(seed):
    """The recipe of a training: shape of the input, layers, optimizer, scheduler, dtype, other choices."""
    r = Random(seed)
    shape, layers = r.choice((_vectors, _images, _images, _sequences))(r)
    layers = _with_one_norm(layers)
    optimizer = _optimizer(r)
    # The gradients of some parameters are 0 but for rounding (a bias before a norm, those of keys): most optimizers scale
    # them up, or look at their signs.
    if any("Norm" in name or name.startswith(("Transformer", "Multihead")) for name, _ in layers):
        optimizer = ("SGD", {"lr": 0.1, "momentum": r.choice((0, 0.9)), "weight_decay": r.choice((0, 0.01))})
    dtypes = ("float32", "float32", "float64", "bfloat16") if optimizer[0] in ("SGD", "ASGD") else ("float64",)
    return {
        "shape": shape,
        "layers": layers,
        "optimizer": optimizer,
        "scheduler": _scheduler(r),
        "dtype": r.choice(dtypes),
        # PyTorch 2.13 crashes in the gradient of a GroupNorm of such images.
        "channels_last": len(shape) == 4 and r.random() < 0.3 and all(name != "GroupNorm" for name, _ in layers),
        "clip": r.choice((None, None, "norm", "value")),
        "set_to_none": r.random() < 0.8,
        "eval": r.random() < 0.5,
        "seed": seed,
    }


def train(t, recipe):
    """Losses, parameters, buffers, the optimizer's state and the learning rate after some steps of library ``t``."""
    t.manual_seed(recipe["seed"])
    dtype = getattr(t, recipe["dtype"])
    network = t.nn.ModuleList([getattr(t.nn, name)(**options) for name, options in recipe["layers"]]).to(dtype)
    name, options = recipe["optimizer"]
    parameters = list(network.parameters()) or [t.nn.Parameter(t.ones(1, dtype=dtype))]
    optimizer = getattr(t.optim, name)(parameters, **options)
    scheduler = recipe["scheduler"] and getattr(t.optim.lr_scheduler, recipe["scheduler"][0])(
        optimizer, **recipe["scheduler"][1]
    )
    lookup = recipe["layers"][0][0] == "Embedding"
    x = t.randint(0, 11, recipe["shape"]) if lookup else t.randn(recipe["shape"], dtype=dtype)
    if recipe["channels_last"]:
        x = x.contiguous(memory_format=t.channels_last)
    losses, last = [], parameters[-1]

    def weights(y):
        return (t.arange(y.numel()).reshape(y.shape) % 7 - 3).to(dtype)

    def closure():
        optimizer.zero_grad(set_to_none=recipe["set_to_none"])
        y = x
        for layer in network:
            y = layer(y, y, y) if type(layer).__name__ == "MultiheadAttention" else layer(y)
            y = y[0] if isinstance(y, tuple) else y
        loss = (y * weights(y)).mean() + (y * y * y).mean() * 0.1 + last.sum() * 0.01
        loss.backward()
        if recipe["clip"]:
            clip = getattr(t.nn.utils, f"clip_grad_{recipe['clip']}_")
            clip(parameters, 0.5)
        losses.append(loss.detach())
        return loss

    for _ in range(STEPS):
        optimizer.step(closure) if name == "LBFGS" else (closure(), optimizer.step())
        if scheduler:
            scheduler.step()
    states = [sorted(state.items()) for state in optimizer.state_dict()["state"].values()]
    states = [(key, value) for state in states for key, value in state if value is not None and key not in _SCRATCH]
    found = [losses, [p.detach() for p in parameters], list(network.buffers()), states]
    if recipe["eval"]:
        network.eval()
        with t.no_grad():
            y = x
            for layer in network:
                y = layer(y, y, y) if type(layer).__name__ == "MultiheadAttention" else layer(y)
                y = y[0] if isinstance(y, tuple) else y
        found.append(y)
    return [*found, [group["lr"] for group in optimizer.param_groups]]


def compared(recipe):
    """In what the two libraries differ on a training, in words; None where they agree."""
    theirs = attempt(train, torch, recipe)
    ours = attempt(train, rl, recipe)
    loose = 20 if recipe["dtype"] != "bfloat16" else 4
    told = difference(ours, theirs, loose)
    # Once bfloat16 came to an infinite loss, roundings decide what is infinite and what NaN.
    diverged = recipe["dtype"] == "bfloat16" and not isinstance(theirs, Raised) and not theirs[0][-1].isfinite()
    return None if told and diverged and difference(ours[0], theirs[0], loose) is None else told

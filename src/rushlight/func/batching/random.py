"""Random operations: refused, drawn for each entry, or drawn once for all, as the vmap says."""

from __future__ import annotations

from ...base.errors import hinted
from ...ops.table import functions
from .call import Call, aligned, each, folded, unfolded

_CREATIONS = frozenset(("rand", "randn", "random_integers", "randperm", "normal_of_size"))
_FILLING = frozenset(
    ("uniform_", "normal_", "log_normal_", "exponential_", "cauchy_", "geometric_", "random_between_", "bernoulli_")
)
_OF_TENSORS = frozenset(
    ("bernoulli_each", "normal_each", "multinomial", "poisson", "binomial", "_standard_gamma", "_sample_dirichlet")
)
RANDOM = _CREATIONS | _FILLING | _OF_TENSORS | {"dropout_pair", "random_target"}


def random(level, op, schema, values, again):
    """What a random operation gives, with the batch first; or, where all entries share it, without."""
    if level.randomness == "error":
        raise RuntimeError(
            hinted(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
                "randomness flags on vmap or perform the randomness operation out of vmap",
                f"{op.name.rstrip('_')} draws random numbers: vmap(f, randomness='different') draws for each entry of the batch",
            )
        )
    call = Call(level, op, schema, values, again)
    draw = _once if level.randomness == "same" else _for_each
    return draw(call)


def _once(call):
    """The same numbers in every entry."""
    name, level = call.op.name, call.level
    if name == "dropout_pair" and call.is_batched("self"):
        mask = call.run(self=functions.ones_like(_entry(call)))[1]
        return level.wrapped((call.inside[0] * mask, mask.expand(call.inside[0].shape)))
    if name == "random_target":
        return call.values[0]
    if name in _FILLING and level.owns(call.values[0]) and not level.holds(call.values[1:]):
        drawn = _entry(call).clone()
        call.run(self=drawn)
        call.inside[0].copy_(drawn)
        return call.values[0]
    if level.holds(call.values):
        raise RuntimeError(
            hinted(
                "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch",
                "probabilities differ between the entries, so that equal draws mean nothing: use randomness='different'",
            )
        )
    return call.again(call.values)


def _entry(call):
    """A tensor in the shape of one entry."""
    value = call.values[0]
    return functions.empty(value.shape, dtype=value.dtype)


def _for_each(call):
    """Numbers of its own for every entry."""
    name, level = call.op.name, call.level
    if name == "randperm":
        return level.wrap(functions.stack([call.again(call.values) for _ in range(call.size)]))
    if name in _CREATIONS:
        return level.wrap(call.run(size=(call.size, *call.given("size"))))
    if name == "random_target":
        value = call.values[0]
        return value if level.owns(value) else level.wrap(level.batch(value).clone())
    if name in _FILLING:
        return _fill(call)
    changes = {key: call.batched(key) for key in call.tensors()}
    ndim = max(value.dim() for value in changes.values())
    if name == "multinomial" and ndim == 3:
        return level.wrap(unfolded(call.run(self=folded(changes["self"])), call.size))
    found = call.run(**{key: aligned(value, ndim - 1) for key, value in changes.items()})
    return each(found, level.wrap)


def _fill(call):
    target, level = call.values[0], call.level
    if level.owns(target):
        changes = {key: aligned(call.batched(key), target.dim()) for key in call.tensors() if call.is_batched(key)}
        if "p" in call.schema.index and level.owns(call.given("p")):
            changes["p"] = aligned(call.batched("p"), target.dim())
        call.run(**changes)
        return target
    if level.holds(call.values[1:]):
        raise RuntimeError(
            hinted(
                "vmap: inplace bernoulli(self, *extra_args) is not possible because there exists a Tensor `other` in "
                "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` not "
                "being vmapped over in a vmap. Please try to use out-of-place operators instead of inplace bernoulli. If said "
                "operator is being called inside the PyTorch framework, please file a bug report instead.",
                "torch.bernoulli(p) makes a new tensor",
            )
        )
    raise RuntimeError(
        hinted(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
            "If this is necessary for your usage, please file an issue with functorch.",
            "the tensor has one value for the whole batch: draw a new one, with torch.rand() or its like",
        )
    )

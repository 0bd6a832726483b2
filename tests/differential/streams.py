"""Random numbers: sequences of draws from one seed, which have to agree to the last bit."""

from __future__ import annotations

from random import Random

import numpy as np
import torch
from libraries import Raised, array_of, attempt

import rushlight as rl

DTYPES = ("float32", "float64", "float16", "bfloat16")
SIZES = ((), (1,), (7,), (15,), (16,), (17,), (3, 5), (2, 8, 4), (257,), (33, 64), (0,), (40, 1000))


DRAWS = {
    "rand": lambda t, r, g: t.rand(r.choice(SIZES), dtype=getattr(t, r.choice(DTYPES)), generator=g),
    "randn": lambda t, r, g: t.randn(r.choice(SIZES), dtype=getattr(t, r.choice(DTYPES)), generator=g),
    "randint": lambda t, r, g: t.randint(r.choice((-5, 0)), r.choice((1, 7, 2**31, 2**40)), r.choice(SIZES), generator=g),
    "randint_dtype": lambda t, r, g: t.randint(
        0, 100, r.choice(SIZES), dtype=getattr(t, r.choice(("int32", "uint8", "int16", "float32"))), generator=g
    ),
    "randperm": lambda t, r, g: t.randperm(r.choice((0, 1, 2, 10, 1000, 40000)), generator=g),
    "normal": lambda t, r, g: t.normal(r.choice((0.0, 2.5)), r.choice((1.0, 0.1)), r.choice(SIZES), generator=g),
    "normal_tensors": lambda t, r, g: t.normal(t.arange(20.0), t.arange(1.0, 21.0), generator=g),
    "bernoulli": lambda t, r, g: t.bernoulli(t.full(r.choice(SIZES), r.choice((0.1, 0.5, 0.9))), generator=g),
    "multinomial": lambda t, r, g: t.multinomial(
        t.arange(1.0, 9.0).expand(3, 8), r.choice((1, 4, 8)), r.random() < 0.3, generator=g
    ),
    "poisson": lambda t, r, g: t.poisson(t.full(r.choice(SIZES), r.choice((0.5, 4.0, 30.0))), generator=g),
    "binomial": lambda t, r, g: t.binomial(t.full((9,), 20.0), t.full((9,), 0.3), generator=g),
    **{
        name: lambda t, r, g, name=name, options=options: getattr(
            t.empty(r.choice(SIZES), dtype=getattr(t, r.choice(DTYPES[:2]))), name
        )(*r.choice(options), generator=g)
        for name, options in {
            "uniform_": ((), (-2, 3)),
            "normal_": ((), (1.0, 0.5)),
            "exponential_": ((), (2.5,)),
            "cauchy_": ((), (1.0, 2.0)),
            "log_normal_": ((), (0.5, 0.3)),
            "geometric_": ((0.3,), (0.9,)),
            "bernoulli_": ((), (0.7,)),
            "random_": ((), (10,), (-3, 4)),
        }.items()
    },
    "dropout": lambda t, r, g: t.nn.functional.dropout(t.ones(r.choice(SIZES)), r.choice((0.1, 0.5, 0.99))),
    "dropout2d": lambda t, r, g: t.nn.functional.dropout2d(t.ones(4, 5, 3, 3), 0.4),
    "alpha_dropout": lambda t, r, g: t.nn.functional.alpha_dropout(t.ones(r.choice(SIZES)), 0.3),
    "rrelu": lambda t, r, g: t.nn.functional.rrelu(-t.ones(r.choice(SIZES)), training=True),
    "gumbel_softmax": lambda t, r, g: t.nn.functional.gumbel_softmax(t.zeros(3, 4), hard=True),
    "rand_like": lambda t, r, g: t.rand_like(t.empty(3, 7).t()),
    "randn_like": lambda t, r, g: t.randn_like(t.empty(5, 6, dtype=getattr(t, r.choice(DTYPES))).t()),
    "randint_like": lambda t, r, g: t.randint_like(t.empty(4, 5), 3, 9),
    "complex": lambda t, r, g: t.randn(r.choice(SIZES), dtype=r.choice((t.complex64, t.complex128)), generator=g),
    "transposed": lambda t, r, g: t.empty(6, 20).t().normal_(generator=g),
    "sliced": lambda t, r, g: t.zeros(40, 3)[:, 1].uniform_(generator=g),
    "kaiming": lambda t, r, g: t.nn.init.kaiming_uniform_(t.empty(12, 30), a=5**0.5, generator=g),
    "xavier": lambda t, r, g: t.nn.init.xavier_normal_(t.empty(8, 4, 3, 3), generator=g),
    "trunc_normal": lambda t, r, g: t.nn.init.trunc_normal_(t.empty(5, 9), generator=g),
    "linear": lambda t, r, g: t.nn.Linear(r.choice((1, 9, 64)), 5).weight.detach(),
    "lstm": lambda t, r, g: t.nn.LSTM(3, 4, 2).weight_hh_l1.detach(),
    "random_split": lambda t, r, g: t.tensor(
        [list(part.indices) for part in t.utils.data.random_split(range(10), [5, 5], generator=g or t.default_generator)]
    ),
    "sampler": lambda t, r, g: t.tensor(list(t.utils.data.RandomSampler(range(12), generator=g))),
    "weighted": lambda t, r, g: t.tensor(list(t.utils.data.WeightedRandomSampler([1, 2, 3.5], 6, generator=g))),
    "loader": lambda t, r, g: t.cat(
        list(t.utils.data.DataLoader(t.arange(11), batch_size=3, shuffle=True, generator=g))
    ),
    "reseeded": lambda t, r, g: t.manual_seed(r.randrange(1 << 40)).initial_seed() and t.rand(3),
    "forked": lambda t, r, g: _forked(t),
    "restored": lambda t, r, g: _restored(t, g),
}  # fmt: skip


def _forked(t):
    with t.random.fork_rng():
        inside = t.rand(5)
    return t.cat([inside, t.rand(2)])


def _restored(t, generator):
    generator = generator or t.default_generator
    state = generator.get_state()
    first = t.randn(9, generator=generator)
    generator.set_state(state)
    return t.cat([first, t.randn(3, generator=generator)])


def stream(t, seed, draws=12):
    """``[(name, result), ...]`` of a sequence of draws with library ``t``."""
    t.manual_seed(seed)
    generator, found = t.Generator().manual_seed(seed + 1), []
    order = Random(seed)
    for _ in range(draws):
        name, choices, own = order.choice(list(DRAWS)), order.randrange(1 << 30), order.random() < 0.5
        found.append((name, attempt(DRAWS[name], t, Random(choices), generator if own else None)))
    return found


def compared(seed, draws=12):
    """The first draw on which the two libraries differ, in words; None where they agree."""
    ours, theirs = stream(rl, seed, draws), stream(torch, seed, draws)
    for place, ((name, mine), (_, other)) in enumerate(zip(ours, theirs)):
        if isinstance(mine, Raised) or isinstance(other, Raised):
            if mine != other:
                return f"draw {place}, {name}: {mine!r:.150}, not {other!r:.150}"
            continue
        same_dtype = str(mine.dtype) == str(other.dtype)
        if not same_dtype or not np.array_equal(array_of(mine), array_of(other), equal_nan=mine.is_floating_point()):
            return f"draw {place}, {name}: {mine!r:.150}, not {other!r:.150}"
    return None

"""Which function computes the divergence of two classes of distributions, and how one is found for subclasses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from ...base.errors import hinted
from ...tensor import Tensor
from ..distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}  # what was found for two classes; NotImplemented where there is nothing


def register_kl(type_p: type, type_q: type) -> Callable:
    """A decorator: the function of ``(p, q)`` computes ``kl_divergence`` of these classes and their subclasses.

    Where several pairs fit, the most derived class of p decides, then that of q; if the other order finds another function, a
    RuntimeWarning names the pair that is missing. Follows ``torch.distributions.kl.register_kl``.

    >>> import rushlight as torch
    >>> D = torch.distributions
    >>> class Point(D.Normal):
    ...     pass
    >>> @D.register_kl(Point, D.Normal)
    ... def nothing_known(p, q):
    ...     return torch.full_like(p.loc, float("inf"))
    >>> D.kl_divergence(Point(0.0, 1.0), D.Normal(0.0, 1.0))
    tensor(inf)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type) and issubclass(kind, Distribution):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def register(function: Callable) -> Callable:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def _closest(pairs, order):
    """The pair of the most derived classes; its places are looked at in ``order``."""

    def compare(one, other):
        for place in order:
            if one[place] is not other[place]:
                return -1 if issubclass(one[place], other[place]) else 1
        return 0

    return min(pairs, key=cmp_to_key(compare))


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The function for two classes, or NotImplemented."""
    fitting = [pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not fitting:
        return NotImplemented
    by_p, by_q = _closest(fitting, (0, 1)), _closest(fitting, (1, 0))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence of ``p`` from ``q``, the mean under p of ``log p(x) - log q(x)``; of the batch's shape.

    NotImplementedError for two classes that no formula is registered for. Follows ``torch.distributions.kl_divergence``.

    >>> import rushlight as torch
    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(torch.tensor([0.0, 1.0]), 1.0))
    tensor([0.0000, 0.5000])
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    function = _KL_MEMOIZE[pair]
    if function is NotImplemented:
        raise NotImplementedError(
            hinted(
                f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}",
                "register_kl adds a formula; (p.log_prob(x) - q.log_prob(x)).mean(0) over samples of p estimates it",
            )
        )
    return function(p, q)

"""The table of Kullback-Leibler divergences: pairs of distributions, and how a pair is found in it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..base.errors import hinted
from .distribution import Distribution

__all__ = ["register_kl", "kl_divergence"]

_KL_REGISTRY: dict[tuple[type, type], Callable[..., Any]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Callable[..., Any]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function computes the divergence of a ``type_p`` from a ``type_q``, and of their subclasses.

    Where two pairs fit equally well, register the pair that decides.
    """
    for kind in (type_p, type_q):
        if not isinstance(kind, type) and issubclass(kind, Distribution):
            raise TypeError(f"Expected type_p to be a Distribution subclass but got {kind}")

    def decorator(fun):
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun

    return decorator


def _dispatch_kl(type_p, type_q):
    """The function of the nearest registered pair, or `NotImplemented`."""
    matches = [pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not matches:
        return NotImplemented

    def distance(pair):  # how many classes lie between, of the first and of the second
        return type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])

    left = min(matches, key=distance)
    right = min(matches, key=lambda pair: distance(pair)[::-1])
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left[0].__name__}, "
            f"{right[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The expectation of ``log p(x) - log q(x)`` for ``x`` drawn from ``p``.

    >>> import rushlight as torch
    >>> from rushlight.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    key = type(p), type(q)
    if key not in _KL_MEMOIZE:
        _KL_MEMOIZE[key] = _dispatch_kl(*key)
    fun = _KL_MEMOIZE[key]
    if fun is NotImplemented:
        raise NotImplementedError(
            hinted(
                f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}",
                "register_kl adds a pair; samples of p estimate it: (p.log_prob(x) - q.log_prob(x)).mean()",
            )
        )
    return fun(p, q)

"""Forward mode: tensors with tangents, ``torch.autograd.forward_ad``.

Inside ``dual_level()``, every operation on tensors that `make_dual` gave a tangent computes the tangent of its result
along with it: the derivative in that direction. What computes them is in rushlight/func/.

>>> import rushlight as torch
>>> import rushlight.autograd.forward_ad as forward_ad
>>> with forward_ad.dual_level():
...     dual = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
...     forward_ad.unpack_dual(dual ** 2)
UnpackedDualTensor(primal=tensor(9.), tangent=tensor(6.))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.errors import hinted
from ..ops.table import functions
from .modes import _Mode, state

if TYPE_CHECKING:
    from ..tensor import Tensor

__all__ = ["UnpackedDualTensor", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual", "dual_level"]


def __getattr__(name):
    if name == "_current_level":  # PyTorch's name for the number of the open level
        return functions.current_dual_level()
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns: the value of a tensor, and its tangent or None."""

    primal: Any
    tangent: Any


def enter_dual_level() -> Any:
    """Open the level of forward mode; returns its number, which is 0. Levels do not nest."""
    return functions.enter_dual_level()


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level that is open (``level`` may name it): all tangents are gone then."""
    current = functions.current_dual_level()
    if level is not None and level != current:
        raise RuntimeError(
            hinted(
                "Trying to exit a forward AD level that was not the last one that was created. This is not supported.",
                f"the number of the open level is {current}" if current >= 0 else "no level is open",
            )
        )
    functions.exit_dual_level()


class dual_level(_Mode):
    """A context, or decorator, in which forward mode is on: ``with dual_level(): ...``."""

    def __enter__(self) -> Any:
        before = functions.current_dual_level()
        try:
            level = enter_dual_level()
        except BaseException:  # Ctrl-C came when it was done, or one is open already
            if functions.current_dual_level() > before:
                exit_dual_level()
            raise
        return level

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        try:
            exit_dual_level()
        except BaseException:  # Ctrl-C came before it was done
            if functions.current_dual_level() >= 0:
                exit_dual_level()
            raise


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Any:
    """A view of ``tensor`` whose tangent is ``tangent``.

    Args:
        tensor: the value, of floating or complex dtype; gradients of reverse mode flow back to it.
        tangent: a tensor of its shape. It is used as it is where it lies in memory as ``tensor`` does, else copied.
        level: the number of the open level; may be left away.

    Raises:
        RuntimeError: no level is open, the shapes differ, or one of the two is dual already.
        ValueError: one of the two is of an integer dtype.
    """
    if level is None:
        level = functions.current_dual_level()
    if level < 0:
        raise RuntimeError(
            hinted(
                "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.",
                "work inside `with forward_ad.dual_level():`",
            )
        )
    return functions.make_dual(tensor, tangent, level)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> Any:
    """``(primal, tangent)`` of a tensor: a view of its value without tangent, and its tangent or None.

    ``level`` is the number of the open level and may be left away. Where none is open, ``tensor`` is returned itself.
    """
    if level is None:
        level = functions.current_dual_level()
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*functions.unpack_dual(tensor, level))


def _is_fwd_grad_enabled():
    """Whether operations of this thread compute tangents, where a level is open."""
    return state.forward_grad


class _set_fwd_grad_enabled(_Mode):
    """Switch the computing of tangents on or off in this thread, at once; as a context it restores what was before."""

    def __init__(self, mode: bool) -> None:
        self._forward, self._before = bool(mode), state.forward_grad
        state.forward_grad = self._forward

    def __enter__(self) -> None:
        state.forward_grad = self._forward

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        state.forward_grad = self._before

    def clone(self) -> _set_fwd_grad_enabled:
        """Another context of the same kind, which acts at once."""
        return _set_fwd_grad_enabled(self._forward)

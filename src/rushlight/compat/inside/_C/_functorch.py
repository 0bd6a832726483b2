"""``torch._C._functorch``: what kind of tensor a transform of ``torch.func`` has handed on."""

from threading import get_ident as _get_ident

from ....base.errors import hinted as _hinted
from ....func.levels import Level as _Level
from ....func.levels import LevelTensor as _LevelTensor
from ....func.vmap import entering as _entering
from ....func.vmap import leaving as _leaving
from ....tensor.interposers import INTERPOSERS as _INTERPOSERS
from ....tensor.interposers import innermost as _innermost


def is_functorch_wrapped_tensor(tensor):
    """Whether it is the tensor of a transform's level."""
    return isinstance(tensor, _LevelTensor)


def is_batchedtensor(tensor):
    """Whether its elements are those of several entries of ``vmap``."""
    return isinstance(tensor, _LevelTensor) and tensor.is_batch


def is_gradtrackingtensor(tensor):
    """Whether it is the tensor of a level of ``grad`` or ``jvp``."""
    return isinstance(tensor, _LevelTensor) and not tensor.is_batch


def is_legacy_batchedtensor(tensor):
    """Whether it belongs to the former ``vmap``: never."""
    return False


def get_unwrapped(tensor):
    """The tensor of the level below."""
    return tensor.value


def maybe_current_level():
    """The innermost level of this thread; None outside of transforms."""
    level = _innermost()
    return level if isinstance(level, _Level) else None


def _running(level):
    """The level of this thread's ``vmap`` that has a number."""
    for each in _INTERPOSERS:
        if isinstance(each, _Level) and each.depth == level and each.thread == _get_ident():
            return each
    raise RuntimeError(
        _hinted(f"no transform of level {level} is at work", "levels are counted from 1, outermost first")
    )


def _add_batch_dim(tensor, batch_dim, level):
    """A tensor as the function inside of the ``vmap`` of a level sees it: without its dimension ``batch_dim``."""
    return _entering(_running(level), tensor, batch_dim)


def _remove_batch_dim(tensor, level, batch_size, out_dim):
    """The tensor of a ``vmap``'s level as it is outside of it, with the batch at ``out_dim``."""
    return _leaving(_running(level), tensor, out_dim)

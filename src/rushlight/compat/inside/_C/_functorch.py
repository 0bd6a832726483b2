"""``torch._C._functorch``: what kind of tensor a transform of ``torch.func`` has handed on."""

from ....func.levels import LevelTensor as _LevelTensor
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
    return level if type(level).__module__.startswith("rushlight.func") else None

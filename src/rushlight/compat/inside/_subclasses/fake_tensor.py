"""``torch._subclasses.fake_tensor``: tensors without memory: none here."""

from contextlib import nullcontext as _nullcontext

from ....base.errors import hinted as _hinted
from ....tensor import Tensor as _Tensor


class FakeTensor(_Tensor):
    """A tensor without memory: none is made here; programs ask whether a tensor is one."""


class FakeTensorMode:
    """A block in which tensors have no memory: refused."""

    def __init__(self, *args, **options):
        raise NotImplementedError(
            _hinted(
                "FakeTensorMode is not available",
                "it belongs to PyTorch's compiler, which is not here; make real tensors",
            )
        )


def is_fake(x):
    """Whether it is a tensor without memory: False."""
    return isinstance(x, FakeTensor)


def unset_fake_temporarily():
    """A block without the mode around it in which tensors have no memory: there is none."""
    return _nullcontext()


def maybe_get_fake_mode(t):
    """The mode in which a tensor without memory was made: None."""
    return None

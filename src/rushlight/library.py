"""``torch.library``: operations that a program defines itself, with their derivatives."""

from .compat.operators import (
    CustomOpDef,
    Library,
    custom_op,
    define,
    fallthrough_kernel,
    impl,
    impl_abstract,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "impl",
    "impl_abstract",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
]

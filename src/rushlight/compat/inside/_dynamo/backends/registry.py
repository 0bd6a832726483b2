"""``torch._dynamo.backends.registry``: the names of the compiler's backends."""

from .....compiler.backends import (
    get_default_backend,
    list_backends,
    lookup_backend,
    register_backend,
    set_default_backend,
)
from ..exc import InvalidBackend

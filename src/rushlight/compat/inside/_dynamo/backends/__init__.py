"""``torch._dynamo.backends``: the names of the compiler's backends."""

from . import registry

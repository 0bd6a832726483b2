"""The derivatives under their old module name."""

from ..func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from ..func.arguments import chosen


def _slice_argnums(args, argnums, as_tuple=True):
    """The arguments that ``argnums`` chooses; one of them in a tuple, unless ``as_tuple`` is False."""
    found = chosen(args, argnums)
    return (found,) if as_tuple and isinstance(argnums, int) else found

"""What the transforms check of the arguments and results of functions, in PyTorch's words."""

from __future__ import annotations

from ..base import trees
from ..base.errors import hinted
from ..tensor.base import Tensor


def chosen_numbers(argnums, count):
    """The positions, from 0, of the arguments that ``argnums``, an int or a tuple of them, chooses among ``count``."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(
            hinted(
                f"argnums must be int or Tuple[int, ...], got: {type(argnums)}",
                "it says which arguments to differentiate by: 0, or (0, 2)",
            )
        )
    many = isinstance(argnums, tuple)
    numbers = tuple(_number(number, count) for number in (argnums if many else (argnums,)))
    if not numbers:
        raise RuntimeError(hinted("argnums must be non-empty", "it says which arguments to differentiate by"))
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(
            hinted(
                f"argnums elements must be unique, got {numbers}",
                "each argument can be chosen once; negative numbers count from the last one",
            )
        )
    return numbers


def _number(number, count):
    if not isinstance(number, int):
        raise RuntimeError(hinted(f"argnum must be int, got: {type(number)}", "positions of arguments are ints"))
    if not -count <= number < count:
        raise RuntimeError(
            hinted(
                f"Got argnum={number}, but only {count} positional inputs",
                "keyword arguments cannot be chosen: pass the tensor by position",
            )
        )
    return number % count


def chosen(args, argnums):
    """The arguments that ``argnums`` chooses: one for an int, a tuple of them for a tuple."""
    numbers = chosen_numbers(argnums, len(args))
    return tuple(args[number] for number in numbers) if isinstance(argnums, tuple) else args[numbers[0]]


def replaced(args, argnums, values):
    """``args``, a tuple, with the arguments that ``argnums`` chooses replaced by ``values`` as `chosen` gives them."""
    args = list(args)
    for number, value in zip(chosen_numbers(argnums, len(args)), values if isinstance(argnums, tuple) else (values,)):
        args[number] = value
    return tuple(args)


def split_auxiliary(found, has_aux, call):
    """``(output, aux)`` of what a function returned; ``call`` is how the error names the transform."""
    if not has_aux:
        return found, None
    if not (isinstance(found, tuple) and len(found) == 2):
        raise RuntimeError(
            hinted(
                f"{call}: output of function f should be a tuple: (output, aux) if has_aux is True",
                f"it returned {type(found).__name__}; leave has_aux away where there is nothing besides the output",
            )
        )
    return found


def check_outputs(outputs, call):
    """Refuse outputs (a list of leaves) that are none, or no tensors."""
    if not outputs or (len(outputs) == 1 and outputs[0] is None):
        raise RuntimeError(
            hinted(
                f"{call}: Expected f to be a function that has non-empty output (got output = {outputs})",
                "let it return a tensor, or a nested container of tensors",
            )
        )
    for out in outputs:
        if not isinstance(out, Tensor):
            raise RuntimeError(
                hinted(
                    f"{call}: expected f(*primals) to return only tensors, got unsupported type {type(out)}",
                    "other values can be returned beside the output, with has_aux=True",
                )
            )


def unwrap_tree(level, tree):
    """A nested container of tensors with the values inside the tensors of ``level``."""

    def unwrap(leaf):
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                hinted(
                    f"Expected tensors, got unsupported type {type(leaf)}",
                    "what a transformed function returns are tensors, or nested containers of them",
                )
            )
        return level.unwrap(leaf)

    return trees.tree_map(unwrap, tree)


def wrap_tree(level, tree):
    """A nested container with its tensors as tensors of ``level``; other leaves stay as they are."""
    return trees.tree_map(lambda leaf: level.wrap(leaf) if isinstance(leaf, Tensor) else leaf, tree)


def refuse_complex(name, tree, what):
    """The error of ``jacrev`` and ``jacfwd`` where inputs or outputs (``what``) are complex."""
    for number, leaf in enumerate(trees.leaves_of(tree)):
        if isinstance(leaf, Tensor) and leaf.is_complex():
            raise RuntimeError(
                hinted(
                    f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {number}",
                    "take real and imaginary part apart with torch.view_as_real",
                )
            )

"""Running a module for recordings: with the example, with other values, with other sizes; afterwards it is as it was."""

from __future__ import annotations

import inspect
from typing import Any

from ..autograd.modes import no_grad
from ..base.exporting import exporting
from ..nn import Module
from ..ops.table import functions
from ..random import fork_rng
from ..tensor import Tensor
from ..tensor.interposers import interposed
from ..utils import _pytree as pytree
from .dynamic_shapes import Varying
from .recording import Call, Recording

OUTPUT = "output"  # the last call of a recording: what the module returned


def state_of(module: Module) -> dict[str, tuple[str, Tensor, bool | None]]:
    """Parameters and buffers by name: kind, tensor, whether a buffer is in the state dictionary. Each tensor once."""
    found: dict[str, tuple[str, Tensor, bool | None]] = {
        name: ("parameter", tensor, None) for name, tensor in module.named_parameters()
    }
    saved = module.state_dict(keep_vars=True)
    return found | {name: ("buffer", tensor, name in saved) for name, tensor in module.named_buffers()}


def _attributes_of(module: Module) -> dict[int, str]:
    """The names of tensors that are plain attributes of modules, by identity."""
    found = {}
    for prefix, each in module.named_modules():
        for name, value in vars(each).items():
            if isinstance(value, Tensor):
                found.setdefault(id(value), f"{prefix}.{name}".lstrip("."))
    return found


class Runner:
    """Calls a module with examples that are like the given one, and records each call.

    Args:
        module: what is called.
        bound: the example, bound to the signature of ``forward``.
        varying: for each leaf its dimensions that vary.
    """

    def __init__(self, module: Module, bound: inspect.BoundArguments, varying: list[dict[int, Varying]]):
        self.module, self.varying, self._signature = module, varying, bound.signature
        self.leaves, self.in_spec = pytree.tree_flatten(dict(bound.arguments))
        self.state = state_of(module)
        self.attributes = _attributes_of(module)
        self.output_spec: Any = None

    def example(self) -> Recording:
        """The call with the example itself."""
        return self._record(self.leaves)

    def other_values(self) -> list[Recording]:
        """Calls with tensors of the same sizes that hold other numbers: what depends on these shows.

        First within the range of the example's numbers, then with other signs, too, unless the module refuses such numbers.
        """
        found = [self._record([_other(leaf) if isinstance(leaf, Tensor) else leaf for leaf in self.leaves])]
        turned = [_negated(leaf) if isinstance(leaf, Tensor) else leaf for leaf in self.leaves]
        try:
            found.append(self._record(turned))
        except (RuntimeError, ValueError):  # such as probabilities below 0: they tell nothing
            return found
        return found

    def other_sizes(self, sizes: dict[Any, int]) -> Recording:
        """The call with tensors of other sizes and numbers; ``sizes`` has the values of the symbols."""
        return self._record([_other(leaf) if isinstance(leaf, Tensor) else leaf for leaf in self._resized(sizes)])

    def begin_with(self, sizes: dict[Any, int]) -> None:
        """Let the example have these sizes from now on."""
        self.leaves = self._resized(sizes)

    def _resized(self, sizes: dict[Any, int]) -> list[Any]:
        """The leaves in other sizes: the example's numbers, over and over."""
        leaves = [*self.leaves]
        for place, varying in enumerate(self.varying):
            for dim, size in varying.items():
                old, new = leaves[place].shape[dim], size.size(sizes[size.symbol])
                if new != old:
                    leaves[place] = leaves[place].index_select(dim, functions.arange(new) % old)
        return leaves

    def _record(self, leaves: list[Any]) -> Recording:
        # Copies: the module may write into them, and a tensor that was given twice is two inputs, which may differ another time.
        leaves = [leaf.detach().clone() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        inputs = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        recording = Recording([*(tensor for _, tensor, _ in self.state.values()), *inputs])
        bound = inspect.BoundArguments(self._signature, pytree.tree_unflatten(leaves, self.in_spec))
        kept = _Kept(self.module)
        try:
            with fork_rng(), no_grad(), exporting("torch.export"), interposed(recording):
                found = self.module(*bound.args, **bound.kwargs)
                outputs, self.output_spec = pytree.tree_flatten(found)
                noted = recording.noted(outputs)
        finally:
            kept.restore()
        recording.calls.append(Call(OUTPUT, (noted,), (), False))
        return recording


class _Kept:
    """What a module and those in it hold: attributes, buffers with their numbers, parameters."""

    def __init__(self, module: Module):
        self.attributes = [(each, _copied(vars(each))) for each in module.modules()]
        tensors = [*module.parameters(), *module.buffers()]
        self.numbers = [(tensor, tensor.detach().clone()) for tensor in tensors]

    def restore(self) -> None:
        """Give it all back."""
        for module, attributes in self.attributes:
            vars(module).clear()
            vars(module).update(attributes)
        with no_grad():
            for tensor, numbers in self.numbers:
                tensor.copy_(numbers)


def _copied(attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes, whose dictionaries are copied, too: those of parameters, buffers and modules among them."""
    return {name: value.copy() if isinstance(value, dict) else value for name, value in attributes.items()}


def _other(tensor: Tensor) -> Tensor:
    """Other numbers in the same shape and range, in the opposite order: integers may name rows of a table."""
    turned = tensor.detach().flip([*range(tensor.ndim)])
    if not turned.is_floating_point() or not turned.numel():
        return turned
    return turned.min() + turned.max() - turned


def _negated(tensor: Tensor) -> Tensor:
    """Numbers of the opposite sign, and others for 0, but for integers."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor
    return functions.where(tensor == 0, 0.25, -tensor.detach())

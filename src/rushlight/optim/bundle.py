"""Bundle: parameters of a group that take a step together, as if they were one parameter."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate, chain, islice, pairwise, repeat
from operator import attrgetter, is_

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..autograd.node import VersionCounter
from ..kernels.machine.host import host
from ..kernels.routing import elements_of, prepared_step
from ..ops.optimize import COMPUTED, kind_of
from ..ops.table import functions, is_half
from ..tensor import Tensor

# Elements up to which a parameter is small: copying it into a bundle and back costs less than a formula's own calls.
SMALL = 2048
# How often a bundle may be found unfit before it is made anew.
PATIENCE = 10
# Steps after which the kernel of small parameters is loaded. Loading takes as long as NumPy does on some thousand steps, and
# whoever has taken so many will take more.
WARM = 2000

_array_of, _grad_of = attrgetter("_array"), attrgetter("_grad")


class Bundle:
    """Parameters with equal scalars (step counts, ...), which are looked at once: later steps only ask whether all is as it
    was.

    Where there are large ones, a kernel updates all in one launch, as they lie. A bundle of small ones alone has its states
    end to end in flat tensors: a formula is a dozen calls of NumPy, which cost more than the arithmetic on small arrays; run
    over the flat tensors, it costs them once, not once for each parameter; a single one is only looked at once. The state tensors of the members look into the
    flat ones; parameters and gradients are copied, since their memory is the user's. The scalars always lie in flat tensors.

    Args:
        listed: the parameters of the group.
        state: the optimizer's state, where those that have a gradient already have theirs.
        scalar_names, names: of the 0-dim state tensors, and of those in the shape of the parameter.

    ``params`` are the members, perhaps none, and ``rest`` the other parameters of the group. ``misses`` counts the steps that
    the bundle did not fit, ``hits`` those that it did.
    """

    def __init__(self, listed, state, scalar_names, names):
        large = _has_large(listed)
        self.params = params = _members(listed, state, scalar_names, names, large)
        self.names, self.misses, self.hits, self.known = names, 0, 0, len(state)
        chosen = set(map(id, params))
        self.rest = [param for param in listed if id(param) not in chosen]
        self.dicts = [state[param] for param in params]
        if not params:
            return
        self.scalars = [self._scalar(name) for name in scalar_names]
        self.kernel, self.loads_at = None, 1 if large else WARM
        if large or len(params) == 1:
            self.room, self.states = None, [values[name] for values in self.dicts for name in names]
            self.parts = [[values[name]._array for values in self.dicts] for name in names]
        else:
            flats = [self._flat() for _ in names]
            self.states = [self._move(name, *flat) for name, flat in zip(names, flats)]
            self.parts = [parts for _, parts in flats]
            self.room = self._flat(), self._flat(), [kind_of(param._array) for param in params]
        self.written = [*params, *self.scalars, *self.states]
        self.found = self._look(listed, state)

    def _flat(self):
        """A new flat array, and its part for each parameter."""
        arrays = [param._array for param in self.params]
        ends = list(accumulate(array.size for array in arrays))
        flat = np.empty(ends[-1], arrays[0].dtype)
        return flat, [flat[end - array.size : end].reshape(array.shape) for array, end in zip(arrays, ends)]

    def _scalar(self, name):
        flat = np.empty(len(self.params), self.dicts[0][name]._array.dtype)
        return self._move(name, flat, [flat[i, ...] for i in range(len(flat))])

    def _move(self, name, flat, parts):
        """Move the state tensors called ``name`` into the parts of ``flat``; they count versions together."""
        flat = functions.wrap(flat)
        flat._version_counter = counter = VersionCounter()
        for values, part in zip(self.dicts, parts):
            tensor = values[name]
            counter.value = max(counter.value, tensor._version)
            part[...] = tensor._array
            tensor._array, tensor._version_counter = part, counter
        return flat

    def _look(self, listed, state):
        """All objects that are the same as long as nobody has exchanged a parameter, a state or their memory."""
        tensors = chain(self.params, *map(dict.values, self.dicts))
        return [*listed, *islice(state.values(), self.known), *map(_array_of, tensors)]

    def step(self, grads, group, formula, constants, advance):
        """Let the members take a step, after `gradients`, and say whether they did: gradients have to be like the members, those
        of large ones contiguous.

        The functions are those of an `ElementwiseOptimizer`.
        """
        if self.hits == self.loads_at:
            self.kernel = prepared_step(list(map(_array_of, self.params)), self.parts, formula)
        if self.kernel is not None:
            numbers = self.numbers
            if self.kernel(list(map(_array_of, grads)), constants(group, *numbers)):
                if numbers:
                    for flat, number in zip(self.scalars, advance(group, *numbers)):
                        flat._array.fill(number)
                functions.count_writes(self.written, "optimizer_step_")
                return True
        lists = self.params, grads, self.scalars, self.states
        if self.room is not None:
            return functions.bundle_step_(
                *lists, room=self.room, formula=formula, constants=constants, advance=advance, group=group
            )
        if len(self.params) > 1 or not _alike(grads[0]._array, self.params[0]._array):
            return False
        functions.optimizer_step_(*lists, formula=formula, constants=constants, advance=advance, group=group)
        return True

    def _fits(self, listed, state):
        try:
            found = self._look(listed, state)
        except AttributeError:  # a number stands where a state tensor was
            return False
        if len(found) != len(self.found) or not all(map(is_, found, self.found)):
            return False
        numbers = self.numbers = []
        for flat in self.scalars:
            column = flat._array.tolist()
            if column.count(column[0]) != len(column):
                return False
            numbers.append(column[0])
        return True

    def gradients(self, listed, state, names):
        """The gradients of the members, or None where the bundle does not fit this step.

        A member may have no gradient, its state may have been exchanged (a checkpoint was loaded), or its scalars may
        differ from the others'.
        """
        grads = list(map(_grad_of, self.params))
        if grads and names == self.names and not any(map(is_, grads, repeat(None))) and self._fits(listed, state):
            self.hits += 1
            return grads
        self.misses += 1
        return None


def _has_large(listed):
    """Whether the large parameters that have a gradient are enough for a kernel."""
    large = [param._array.size for param in listed if param._grad is not None and param._array.size > SMALL]
    return sum(large) >= elements_of("optimizer_step_") and host() is not None


def _members(listed, state, scalar_names, names, large):
    """The parameters that can be bundled: of the same dtype, memory of their own, most of them at the same step.

    Unless there are ``large`` ones, they are small.
    """
    kinds, bounds = {}, []
    for param in listed:
        array, values = param._array, state.get(param)
        if (
            param._grad is not None
            and array.size > 0
            and (large or array.size <= SMALL)
            and (array.dtype in COMPUTED or (large and is_half(array.dtype)))
            and array.flags.c_contiguous
            and values
            and all(isinstance(value, Tensor) for value in values.values())
            and all(name in values and _alike(values[name]._array, array) for name in names)
            and all(name in values and _is_number(values[name]._array) for name in scalar_names)
        ):
            scalars = [values[name]._array for name in scalar_names]
            kinds[id(param)] = (array.dtype, *[(scalar.dtype, scalar.item()) for scalar in scalars])
            bounds += map(byte_bounds, (array, *scalars, *[values[name]._array for name in names]))
    if any(start < end for (_, end), (start, _) in pairwise(sorted(bounds))):
        return []  # memory is shared: the second parameter's step has to see the first one's
    most = Counter(kinds.values()).most_common(1)
    if not most:
        return []
    return [param for param in listed if kinds.get(id(param)) == most[0][0]]


def _is_number(scalar):
    return scalar.ndim == 0 and scalar.dtype.kind == "f"


def _alike(state, array):
    return state.dtype == array.dtype and state.shape == array.shape and state.flags.c_contiguous

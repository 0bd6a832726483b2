"""Reducer: follows which gradients of a DistributedDataParallel are there, and gives full buckets to its communication hook."""

from __future__ import annotations

import sys
import weakref

from ...autograd import no_grad
from ...autograd.graph import get_gradient_edge
from ...base.errors import hinted
from ...tensor import Tensor
from .buckets import GradBucket, assign

_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module "
    "has parameters that were not used in producing loss. You can enable unused parameter detection by passing the keyword "
    "argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \n"
    "making sure all `forward` function outputs participate in calculating loss. \n"
    "If you already have done the above, then the distributed data parallel module wasn't able to locate the output tensors in "
    "the return value of your module's `forward` function. Please include the loss function and the structure of the return "
    "value of `forward` of your module when reporting this issue (e.g. list, dict, iterable).\n"
    "Parameter indices which did not receive grad for rank 0: {places}\n"
    " In addition, you can set the environment variable TORCH_DISTRIBUTED_DEBUG to either INFO or DETAIL to print out information "
    "about which particular parameters did not receive gradient on this rank as part of this error"
)
_CHANGED = (
    "Your training graph has changed in this iteration, e.g., one parameter is unused in first iteration, but then got used in "
    "the second iteration. this is not compatible with static_graph set to True."
)


class Reducer:
    """Waits for the gradients of ``parameters``; alone in the world, nothing is averaged.

    ``caps``: the sizes in bytes of the buckets once their order is known; in the first iteration all are one bucket, unless
    unused parameters are looked for.
    """

    def __init__(self, parameters, caps, find_unused, as_views, fixed_caps, static):
        self._parameters = parameters
        self._find_unused, self._as_views = find_unused, as_views
        self._caps = caps
        self.comm_hook = None  # (state, hook)
        self._make_buckets(assign(parameters, caps if fixed_caps or find_unused else [sys.maxsize]))
        self._rebuilt = find_unused
        self._order: list[int] = []  # places, as their gradients came in the first iteration
        self._expecting = self._started = False
        self._unused: set[int] = set()
        self._static, self._used = static, None  # places of the first iteration, where the graph stays as it is there
        # A node lives as long as somebody holds it, and so do the hooks on it.
        self._accumulators = [get_gradient_edge(parameter).node for parameter in parameters]
        own = weakref.ref(self)
        for place, node in enumerate(self._accumulators):
            node.register_hook(_telling(own, place))

    def _make_buckets(self, places):
        self._places, self._buckets = places, [None] * len(places)

    def _rebuild_buckets(self):
        """Put parameters into buckets in the order in which their gradients came; whether that was done now."""
        self._check_finished()
        if self._rebuilt or not self._order:
            return False
        self._make_buckets(assign(self._parameters, self._caps, self._order))
        self._rebuilt = True
        return True

    def _check_finished(self):
        if not self._started:
            return
        places = " ".join(map(str, sorted(self._waiting)))
        raise RuntimeError(
            hinted(
                _UNFINISHED.format(places=places),
                "the last backward reached some parameters only: use all, or pass find_unused_parameters=True, or go on with .module",
            )
        )

    def prepare_for_backward(self, outputs):
        """Wait for the gradients of the backward that starts at ``outputs``; without any, for those of all parameters."""
        self._waiting = set(range(len(self._parameters)))
        self._next, self._calls = 0, []
        self._expecting = True
        self._unused = self._not_reached(outputs) if outputs and self._find_unused else set()

    def _not_reached(self, outputs):
        nodes = [get_gradient_edge(output).node for output in outputs if output.requires_grad]
        seen = set(nodes)
        while nodes:
            for node, _ in nodes.pop().next_functions:
                if node is not None and node not in seen:
                    seen.add(node)
                    nodes.append(node)
        return {place for place, node in enumerate(self._accumulators) if node not in seen}

    def ready(self, place):
        """The gradient of a parameter has come."""
        if not self._expecting:
            return
        if not self._started:
            self._started = True
            for unused in self._unused:
                self._mark(unused)
            if self._static and self._used is None:
                self._used = self._waiting.copy()
        if self._static and place not in self._used:
            raise RuntimeError(hinted(_CHANGED, "with static_graph=False other parameters may be used each time"))
        if not self._rebuilt:
            self._order.append(place)
        self._mark(place)
        if not self._waiting:
            self._expecting = self._started = False
            self._finish()

    def _mark(self, place):
        self._waiting.discard(place)
        if self.comm_hook is None and not self._as_views:
            return
        while self._next < len(self._places) and self._waiting.isdisjoint(self._places[self._next]):
            self._fill(self._next)
            self._next += 1

    def _fill(self, number):
        """Copy gradients into the bucket of a number, and give it to the hook."""
        bucket = self._buckets[number]
        if bucket is None:
            parameters = [self._parameters[place] for place in self._places[number]]
            bucket = self._buckets[number] = GradBucket(number, number == len(self._places) - 1, parameters)
        with no_grad():
            for parameter, part in zip(bucket.parameters(), bucket.gradients()):
                if parameter.grad is None:
                    part.zero_()
                elif parameter.grad.data_ptr() != part.data_ptr():
                    part.copy_(parameter.grad)
        if self.comm_hook is not None:
            state, hook = self.comm_hook
            self._calls.append((number, _future(hook(state, bucket))))

    def _finish(self):
        for number, future in self._calls:
            self._take(self._buckets[number], number, future.wait())
        if self._as_views:
            for number, bucket in enumerate(self._buckets):
                for place, part in zip(self._places[number], bucket.gradients()):
                    if place not in self._unused:
                        self._parameters[place].grad = part

    def _take(self, bucket, number, result):
        """Let the gradients be what the hook gave."""
        if not isinstance(result, Tensor):
            raise RuntimeError(
                hinted(
                    f"Unable to cast {result} to Tensor",
                    "the hook's future gives a flat tensor as long as bucket.buffer()",
                )
            )
        with no_grad():
            if result is not bucket.buffer():
                bucket.buffer().copy_(result)
            for place, part in zip(self._places[number], bucket.gradients()):
                if place not in self._unused and not self._as_views:
                    self._parameters[place].grad.copy_(part)


def _telling(reducer, place):
    """A hook of a node that does not keep the reducer alive."""

    def tell(inputs, outputs):
        found = reducer()
        if found is not None:
            found.ready(place)

    return tell


def _future(found):
    if not (hasattr(found, "wait") and hasattr(found, "then")):
        raise RuntimeError(
            hinted(
                f"Unable to cast Python instance of type {type(found)} to C++ type '?' (#define PYBIND11_DETAILED_ERROR_MESSAGES "
                "or compile in debug mode for details). DDP communication hook's callback must return a torch.futures.Future "
                f"object, but got {type(found).__module__.replace('rushlight', 'torch').split('.')[0]}.{type(found).__name__}",
                "future = torch.futures.Future(); future.set_result(tensor); return future",
            )
        )
    return found

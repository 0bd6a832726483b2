"""Reducer: follows which gradients of a DistributedDataParallel are there, and averages full buckets while backward goes on."""

from __future__ import annotations

import sys
import weakref

from ...autograd import no_grad
from ...autograd.graph import get_gradient_edge
from ...base.device import sparse_coo
from ...base.dtypes import int32, int64
from ...base.errors import hinted
from ...ops.table import functions
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
    "Parameter indices which did not receive grad for rank {rank}: {places}\n"
    " In addition, you can set the environment variable TORCH_DISTRIBUTED_DEBUG to either INFO or DETAIL to print out information "
    "about which particular parameters did not receive gradient on this rank as part of this error"
)
_CHANGED = (
    "Your training graph has changed in this iteration, e.g., one parameter is unused in first iteration, but then got used in "
    "the second iteration. this is not compatible with static_graph set to True."
)

_LARGE = 1 << 16  # bytes from which on a gradient is averaged where it lies


class Reducer:
    """Averages the gradients of ``parameters`` over the processes of ``group``; alone in the world, there is nothing to average.

    A bucket is on its way as soon as its gradients are there and those before it are; each gradient that comes later asks the ones
    on their way how far they are, which moves them. ``caps``: the sizes in bytes of the buckets once their order is known; in the
    first iteration all are one bucket, unless unused parameters are looked for. The order is that of process 0. ``sparse``: the
    parameters whose gradients are sparse.
    """

    def __init__(self, group, parameters, caps, find_unused, as_views, fixed_caps, static, sparse=()):
        self._parameters, self._group, self.divisor = parameters, group, group.size()
        self._sparse = frozenset(
            place for place, each in enumerate(parameters) if any(each is other for other in sparse)
        )
        self._find_unused, self._as_views = find_unused, as_views
        self._caps = caps
        self.comm_hook = None  # (state, hook)
        first_caps = caps if fixed_caps or find_unused else [sys.maxsize]
        self._make_buckets(assign(parameters, first_caps, apart=self._sparse))
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
        apart = self.comm_hook is None and not self._as_views and self._group.size() > 1
        # Large gradients are averaged where they lie: they would only be copied to a bucket and back.
        alone = {place for place, each in enumerate(self._parameters) if apart and each.nbytes >= _LARGE} | self._sparse
        self._alone = [[place for place in each if place in alone] for each in places]
        self._together = [[place for place in each if place not in alone] for each in places]

    def _rebuild_buckets(self):
        """Put parameters into buckets in the order in which their gradients came; whether that was done now."""
        self._check_finished()
        if self._rebuilt or not self._order:
            return False
        self._order = self._of_first_process(self._order)
        self._make_buckets(assign(self._parameters, self._caps, self._order, self._sparse))
        self._rebuilt = True
        return True

    def _of_first_process(self, order):
        places = functions.tensor(order)
        self._group.broadcast(places).wait()
        return places.tolist()

    def _check_finished(self):
        if not self._started:
            return
        places = " ".join(map(str, sorted(self._waiting)))
        raise RuntimeError(
            hinted(
                _UNFINISHED.format(places=places, rank=self._group.rank()),
                "the last backward reached some parameters only: use all, or pass find_unused_parameters=True, or go on with .module",
            )
        )

    def prepare_for_backward(self, outputs):
        """Wait for the gradients of the backward that starts at ``outputs``; without any, for those of all parameters."""
        self._waiting = set(range(len(self._parameters)))
        self._next, self._calls = 0, []
        self._expecting = True
        self._unused = self._not_reached(outputs) if outputs and self._find_unused else set()
        self._used_by = None

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
            self._begin()
            if self._static and self._used is None:
                self._used = self._waiting.copy()
        if self._static and place not in self._used:
            raise RuntimeError(hinted(_CHANGED, "with static_graph=False other parameters may be used each time"))
        if not self._rebuilt:
            self._order.append(place)
        self._mark(place)
        for work, _ in self._calls:
            if not is_over(work):
                break
        if not self._waiting:
            self._expecting = self._started = False
            self._finish()

    def _begin(self):
        """Let the others know which parameters are used here, and wait for no others."""
        if self._find_unused and self._group.size() > 1:
            used = functions.ones(len(self._parameters), dtype=int32)
            for place in self._unused:
                used[place] = 0
            self._used_by = used, self._group.allreduce(used)
        for place in self._unused:
            self._mark(place)

    def _mark(self, place):
        self._waiting.discard(place)
        if self.comm_hook is None and not self._as_views and self._group.size() == 1:
            return
        while self._next < len(self._places) and self._waiting.isdisjoint(self._places[self._next]):
            self._fill(self._next)
            self._next += 1

    def set_hook(self, state, hook):
        """Let ``hook(state, bucket)`` average the buckets, which then hold all gradients; a sparse one has a bucket for itself."""
        self.comm_hook = state, hook
        self._make_buckets(self._places)

    def _bucket(self, number):
        if self._buckets[number] is None:
            self._buckets[number] = self._new_bucket(number)
        return self._buckets[number]

    def _new_bucket(self, number):
        parameters = [self._parameters[place] for place in self._together[number]]
        return GradBucket(number, number == len(self._places) - 1, parameters)

    def _share(self):
        """What a gradient is multiplied with, so that the sum is the average; hooks do that themselves."""
        return 1.0 if self.comm_hook is not None or self._group.size() == 1 else 1.0 / self.divisor

    def _fill(self, number):
        """Copy gradients into the bucket of a number, and send it on its way."""
        for place in self._alone[number]:
            self._send_alone(number, place, self._part_of_average(place))
        if not self._together[number]:
            return
        bucket, share = self._bucket(number), self._share()
        targets, sources = [], []
        with no_grad():
            for parameter, part in zip(bucket.parameters(), bucket.gradients()):
                grad = parameter.grad
                if grad is None:
                    part.zero_()
                elif not (self._as_views and grad.data_ptr() == part.data_ptr()):
                    targets.append(part)
                    sources.append(grad)
            functions.copy_all_(targets, sources)
            if share != 1.0:
                bucket.buffer().mul_(share)
        self._send(number, bucket)

    def _part_of_average(self, place):
        """What this process adds to the average of a gradient that is sent where it lies."""
        share = self._share()
        grad = self._parameters[place].grad
        if grad is None and place in self._sparse:
            raise RuntimeError(
                hinted(
                    "Expected sparse gradient to be defined.", "a table with sparse gradients is used in each iteration"
                )
            )
        with no_grad():
            if grad is None:
                return self._zeros(place)
            if share == 1.0:
                return grad
            return (
                grad * share if place in self._unused else grad.mul_(share)
            )  # one that is not used here may have to stay

    def _send_alone(self, number, place, grad):
        if self.comm_hook is not None:
            bucket = GradBucket(number, number == len(self._places) - 1, [self._parameters[place]], grad)
            self._ask_hook(bucket, lambda result, untouched: self._keep([place], [result], untouched))
            return
        self._calls.append((self._group.allreduce(grad), lambda untouched: self._keep([place], [grad], untouched)))

    def _zeros(self, place):
        parameter = self._parameters[place].detach()
        if place not in self._sparse:
            return functions.zeros_like(parameter)
        rows, width = parameter.shape
        parts = functions.zeros(1, 0, dtype=int64), functions.zeros(0, width, dtype=parameter.dtype)
        return functions.sparse_from_parts(sparse_coo, (rows, width), parts, True)

    def _send(self, number, bucket):
        if self.comm_hook is not None:
            self._ask_hook(bucket, lambda result, untouched: self._take(number, result, untouched))
        elif self._group.size() > 1:
            work = self._group.allreduce(bucket.buffer())
            self._calls.append((work, lambda untouched: self._take(number, bucket.buffer(), untouched)))

    def _ask_hook(self, bucket, take):
        state, hook = self.comm_hook
        work = _future(hook(state, bucket))
        self._calls.append((work, lambda untouched: take(_tensor_of(work.value()), untouched)))

    def send_zeros(self):
        """Take part, without gradients of its own, in what the others do in a backward: see `join`."""
        if self._find_unused and self._group.size() > 1:
            self._group.allreduce(functions.zeros(len(self._parameters), dtype=int32)).wait()
        self._calls = []
        for number in range(len(self._places)):
            for place in self._alone[number]:
                self._send_alone(number, place, self._zeros(place))
            if self._together[number]:
                self._send(number, self._new_bucket(number))  # the other one may hold this process's gradients
        for work, _ in self._calls:
            work.wait()
        if not self._rebuilt and not self._order:
            self._order = list(range(len(self._parameters)))  # the order is process 0's, which may be this one

    def _finish(self):
        untouched = self._unused
        if self._used_by is not None:
            used, work = self._used_by
            work.wait()
            untouched = {place for place in untouched if used[place] == 0}
        for work, finish in self._calls:
            work.wait()
            finish(untouched)
        if self._as_views:
            for number in [number for number, places in enumerate(self._together) if places]:
                for place, part in zip(self._together[number], self._bucket(number).gradients()):
                    if place not in untouched:
                        self._parameters[place].grad = part

    def _take(self, number, result, untouched):
        """Let the gradients be what came back."""
        bucket = self._bucket(number)
        with no_grad():
            if result is not bucket.buffer():
                bucket.buffer().copy_(result)
        if not self._as_views:
            self._keep(self._together[number], bucket.gradients(), untouched)

    def _keep(self, places, averages, untouched):
        """Let the gradients of parameters be the averages, unless no process has used one."""
        targets, sources = [], []
        with no_grad():
            for place, average in zip(places, averages):
                parameter = self._parameters[place]
                grad = parameter.grad
                if place in untouched or grad is average:
                    continue
                if grad is None:
                    parameter.grad = average.clone()
                elif place in self._sparse:
                    grad.copy_(average)
                else:
                    targets.append(grad)
                    sources.append(average)
            functions.copy_all_(targets, sources)


def is_over(work):
    """Whether a Work, or a future of one, is over; a question that moves it."""
    return work.is_completed() if hasattr(work, "is_completed") else work.done()


def _telling(reducer, place):
    """A hook of a node that does not keep the reducer alive."""

    def tell(inputs, outputs):
        found = reducer()
        if found is not None:
            found.ready(place)

    return tell


def _tensor_of(result):
    """The tensor that a hook's future gives."""
    if isinstance(result, (list, tuple)) and len(result) == 1:  # what the future of a collective gives
        result = result[0]
    if not isinstance(result, Tensor):
        raise RuntimeError(
            hinted(
                f"Unable to cast {result} to Tensor",
                "the hook's future gives a tensor like bucket.buffer()",
            )
        )
    return result


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

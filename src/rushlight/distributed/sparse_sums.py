"""`all_reduce` of sparse tensors: all processes gather the indices and values of all, and each adds them up."""

from __future__ import annotations

import math

import numpy as np

from ..autograd import no_grad
from ..base.errors import hinted
from ..ops.table import functions
from . import operations
from .reductions import RedOpType
from .work import Work


def all_reduce(group, tensor, op):
    """Begin to add up sparse tensors, in place; the result is coalesced."""
    if op != RedOpType.SUM:
        raise RuntimeError(
            hinted(
                "ProcessGroupGloo::allreduce: unsupported reduction operation (allreduce of sparse tensors only works with "
                "ReduceOp.SUM)",
                "to_dense() makes a tensor that all operations join",
            )
        )
    group.enter("all_reduce", tensor)
    with no_grad():
        own = tensor.detach().coalesce()
    entries = _entries(operations.read(own.indices()), operations.read(own.values()))
    told = np.empty((group.size(), 2), np.int64)
    Work(group, "all_reduce", [], group.transport.all_gather(told, np.array([len(entries), own.sparse_dim()]))).wait()
    counts, dimensions = told.T
    if len({*dimensions}) > 1:
        raise RuntimeError(
            hinted(
                f"all_reduce: the tensors have {', '.join(map(str, dimensions))} sparse dimensions",
                "the processes add up tensors that are sparse in the same dimensions",
            )
        )
    sent = np.zeros(counts.max(), entries.dtype)  # all send as much as the one that has the most
    sent[: len(entries)] = entries
    gathered = np.empty((group.size(), len(sent)), entries.dtype)
    request = group.transport.all_gather(gathered.view(np.uint8), sent.view(np.uint8))
    shape = own.values().shape[1:]

    def finish():
        found = np.concatenate([part[:count] for part, count in zip(gathered, counts)])
        values = np.ascontiguousarray(found["values"]).view(own.values()._array.dtype).reshape(len(found), *shape)
        parts = functions.wrap(np.ascontiguousarray(found["indices"].T)), functions.wrap(values)
        with no_grad():
            tensor.copy_(functions.sparse_from_parts(tensor.layout, tuple(tensor.shape), parts, False).coalesce())

    return Work(group, "all_reduce", [tensor], request, [finish], gathered.nbytes)


def _entries(indices, values):
    """A record of its indices and the bytes of its values for each entry."""
    width = values.itemsize * math.prod(values.shape[1:])
    found = np.empty(len(values), [("indices", np.int64, (len(indices),)), ("values", np.uint8, (width,))])
    found["indices"] = indices.T
    found["values"] = np.ascontiguousarray(values).reshape(-1).view(np.uint8).reshape(found.shape[0], width)
    return found

"""PowerSGD: gradients that are matrices are sent as products of two thin ones; what that loses is added to the next gradients.

The method is that of Vogels, Karimireddy and Jaggi, "PowerSGD: Practical Low-Rank Gradient Compression for Distributed Optimization".
"""

from typing import Any

import numpy as np

from ....autograd import no_grad
from ....base.errors import hinted
from ....futures import Future
from ....nn.parallel.buckets import GradBucket
from ....ops.table import functions
from ....random import Generator
from ...groups import default_group
from . import default_hooks


class PowerSGDState:
    """What the hooks keep from step to step.

    Args:
        process_group: default: all processes.
        matrix_approximation_rank (int): the width of the thin matrices. Default: 1
        start_powerSGD_iter (int): buckets are averaged as they are before this step. Default: 1000
        min_compression_rate (float): matrices are sent as they are unless that takes so many times as much. Default: 2
        use_error_feedback (bool): what is lost is added to the next gradients. Default: True
        warm_start (bool): one of the thin matrices begins as in the last step. Default: True
        orthogonalization_epsilon (float): added to norms before division. Default: 0
        random_seed (int): of the first thin matrices. Default: 0
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                hinted(
                    "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD can only be "
                    "applied after the first two iterations in DDP.",
                    "the buckets are made anew after the first step",
                )
            )
        self.process_group, self.matrix_approximation_rank = process_group, matrix_approximation_rank
        self.start_powerSGD_iter, self.min_compression_rate = start_powerSGD_iter, min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, Any] = {}
        self.p_memory_dict: dict[int, Any] = {}
        self.q_memory_dict: dict[int, Any] = {}
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a step at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def _orthogonalize(matrix: Any, epsilon: float) -> None:
    """Make the columns of a thin matrix orthonormal, in place."""
    columns = matrix.shape[1]
    if columns > 2 and matrix.dtype.itemsize > 2:
        matrix.copy_(functions.linalg_qr(matrix)[0])
        return
    for place in range(columns):
        column = matrix[:, place : place + 1]
        column /= functions.norm(column) + epsilon
        if place + 1 < columns:
            rest = matrix[:, place + 1 :]
            rest -= (column * rest).sum(0) * column


class _Thin:
    """The thin matrices of a bucket's matrices, in two flat tensors that are kept from step to step."""

    def __init__(self, state: PowerSGDState, index: int, matrices: list[Any], ranks: list[int]) -> None:
        self.matrices = matrices
        kept = state.warm_start and index in state.p_memory_dict
        like = matrices[0]
        if not kept:
            sizes = [(each.shape[0] * rank, each.shape[1] * rank) for each, rank in zip(matrices, ranks)]
            state.p_memory_dict[index], state.q_memory_dict[index] = (
                functions.empty(sum(size), dtype=like.dtype) for size in zip(*sizes)
            )
        self.p_memory, self.q_memory = state.p_memory_dict[index], state.q_memory_dict[index]
        self.ps = self._views(self.p_memory, [(each.shape[0], rank) for each, rank in zip(matrices, ranks)])
        self.qs = self._views(self.q_memory, [(each.shape[1], rank) for each, rank in zip(matrices, ranks)])
        if not kept:  # numbers that all processes draw alike
            generator = Generator().manual_seed(int(state.rng.randint(1_000_000_000)))
        for q in self.qs:
            if not kept:
                q.copy_(functions.randn(*q.shape, generator=generator, dtype=like.dtype))
            _orthogonalize(q, state.orthogonalization_epsilon)

    @staticmethod
    def _views(memory: Any, shapes: list[tuple[int, int]]) -> list[Any]:
        parts = memory.split([rows * columns for rows, columns in shapes])
        return [part.view(shape) for part, shape in zip(parts, shapes)]


def _approximate(state: PowerSGDState, group: Any, thin: _Thin) -> None:
    """Write into the matrices the average of all processes' products of thin matrices."""
    for matrix, q, p in zip(thin.matrices, thin.qs, thin.ps):
        functions.matmul(matrix, q, out=p)
    group.allreduce(thin.p_memory).wait()
    for p in thin.ps:
        _orthogonalize(p, state.orthogonalization_epsilon)
    for matrix, p, q in zip(thin.matrices, thin.ps, thin.qs):
        functions.matmul(matrix.t(), p, out=q)
    group.allreduce(thin.q_memory).wait()
    thin.q_memory.div_(group.size())
    for matrix, p, q in zip(thin.matrices, thin.ps, thin.qs):
        functions.matmul(p, q.t(), out=matrix)


def _with_error(state: PowerSGDState, bucket: GradBucket) -> Any:
    """A copy of the bucket, to which what was lost before has been added; None without error feedback."""
    if not state.use_error_feedback:
        return None
    buffer = bucket.buffer()
    if bucket.index() in state.error_dict:
        buffer.add_(state.error_dict[bucket.index()])
    return buffer.clone()


def _after(work: Any, finish: Any) -> Any:
    return work.get_future().then(lambda done: finish())


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """Average the matrices of a bucket as products of thin ones, everything else as it is."""
    group = default_group() if state.process_group is None else state.process_group
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.averaged(group, bucket.buffer())
    with no_grad():
        return _compressed(state, group, bucket)


def _compressed(state: PowerSGDState, group: Any, bucket: GradBucket) -> Any:
    before = _with_error(state, bucket)
    matrices, ranks, others = [], [], []
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0], -1) if gradient.dim() else gradient.view(1, 1)
        rows, columns = matrix.shape
        rank = min(rows, columns, state.matrix_approximation_rank)
        if (rows + columns) * rank * state.min_compression_rate < rows * columns:
            matrices.append(matrix)
            ranks.append(rank)
        else:
            others.append(gradient)
    flat = functions.cat([each.reshape(-1) for each in others]) if others else bucket.buffer().new_zeros(0)
    work = group.allreduce(flat)
    if matrices:
        shapes = [each.shape for each in matrices]
        order = sorted(
            range(len(matrices)), key=lambda place: shapes.index(shapes[place])
        )  # those of one shape together
        thin = _Thin(state, bucket.index(), [matrices[place] for place in order], [ranks[place] for place in order])
        _approximate(state, group, thin)

    def finish() -> Any:
        with no_grad():
            flat.div_(group.size())
            for each, part in zip(others, flat.split([each.numel() for each in others]) if others else ()):
                each.copy_(part.view(each.shape))
            return _finished(state, bucket, before)

    return _after(work, finish)


def _finished(state: PowerSGDState, bucket: GradBucket, before: Any) -> Any:
    """Note what was lost, and count the step."""
    if before is not None:
        state.error_dict[bucket.index()] = before - bucket.buffer()
    if not state.warm_start:
        state.p_memory_dict.clear()
        state.q_memory_dict.clear()
    state.maybe_increase_iter(bucket)
    return bucket.buffer()


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """Average a whole bucket as the product of two thin matrices, as if it were one square matrix."""
    group = default_group() if state.process_group is None else state.process_group
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.averaged(group, bucket.buffer())
    with no_grad():
        buffer = bucket.buffer()
        before = _with_error(state, bucket)
        side = int(np.ceil(np.sqrt(buffer.numel())))
        square = functions.zeros(side * side, dtype=buffer.dtype)
        square[: buffer.numel()].copy_(buffer)
        rank = min(side, state.matrix_approximation_rank)
        _approximate(state, group, _Thin(state, bucket.index(), [square.view(side, side)], [rank]))
        buffer.copy_(square[: buffer.numel()])
        result = _finished(state, bucket, before)
    return _after(group.allreduce(result.new_zeros(0)), lambda: result)

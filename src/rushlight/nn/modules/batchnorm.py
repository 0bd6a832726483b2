"""Batch normalisation over one to three spatial dimensions, with running statistics, and its lazy forms."""

from __future__ import annotations

from typing import Any

from ...autograd import Function, no_grad
from ...base import process_group
from ...base.device import DeviceLike
from ...base.dtypes import DType, int64
from ...base.errors import hinted
from ...ops.table import functions
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module, held
from .own_methods import own


class _NormBase(Module):
    """Parameters and running statistics of a norm over channels; ``_input_dims`` are the input ranks it takes."""

    weight: Tensor
    bias: Tensor
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    _input_dims: tuple

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            parameter = Parameter(functions.empty(num_features, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, parameter)
        if track_running_stats:
            self.register_buffer("running_mean", functions.zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", functions.ones(num_features, device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", functions.zeros((), device=device, dtype=int64))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the batches seen: mean 0, variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the batches seen; set ``weight`` to ones and ``bias`` to zeros."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input):
        if input.dim() not in self._input_dims:
            expected = " or ".join(f"{dim}D" for dim in self._input_dims)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        # Checkpoints from before version 2 do not count batches: the count that the module has stays.
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            counted = self.num_batches_tracked
            unusable = counted is None or counted.device.type == "meta"
            state_dict[key] = functions.zeros((), dtype=int64) if unusable else counted
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    def forget_running_statistics(self) -> None:
        """Use the statistics of each batch alone from now on."""
        self.running_mean = self.running_var = self.num_batches_tracked = None
        self.track_running_stats = False

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = self.momentum
        training = self.training
        running_mean, running_var = held(self, "running_mean"), held(self, "running_var")
        if training and self.track_running_stats and (tracked := held(self, "num_batches_tracked")) is not None:
            tracked.add_(1)
            if momentum is None:
                momentum = 1.0 / float(tracked)
        elif momentum is None:
            momentum = 0.0
        by_batch = training or (running_mean is None and running_var is None)
        if training and not self.track_running_stats:
            running_mean = running_var = None
        return F.batch_norm(
            input, running_mean, running_var, held(self, "weight"), held(self, "bias"), by_batch, momentum, self.eps
        )


own(_BatchNorm, "__init__")


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L). Arguments as for :class:`BatchNorm2d`.

    Follows ``torch.nn.BatchNorm1d``.

    >>> import rushlight as torch
    >>> torch.nn.BatchNorm1d(1)(torch.tensor([[1.0], [3.0]])).detach()
    tensor([[-1.0000],
            [ 1.0000]])
    """

    _input_dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalise every channel of (N, C, H, W) over the batch, then scale by ``weight`` and shift by ``bias``.

    In training the batch's mean and variance are used and, with ``track_running_stats``, blended into
    ``running_mean`` and ``running_var`` at the rate ``momentum`` (0.1; None averages all batches alike); in
    evaluation those are used. ``eps`` (1e-5) is added to the variance; ``affine`` and ``bias`` say which parameters
    there are. ValueError for an input of another rank, or with a single value a channel in training. After Ioffe and
    Szegedy, "Batch Normalization" (2015). Follows ``torch.nn.BatchNorm2d``.

    >>> import rushlight as torch
    >>> layer = torch.nn.BatchNorm2d(3)
    >>> layer(torch.randn(4, 3, 5, 5)).shape, layer.num_batches_tracked
    (torch.Size([4, 3, 5, 5]), tensor(1))
    """

    _input_dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W). Arguments as for :class:`BatchNorm2d`.

    Follows ``torch.nn.BatchNorm3d``.
    """

    _input_dims = (5,)


class _Summed(Function):
    """The sum of all processes' tensors; so is its gradient."""

    @staticmethod
    def forward(ctx, group, tensor):
        ctx.group, made = group, tensor.clone()
        group.allreduce(made).wait()
        return made

    @staticmethod
    def backward(ctx, grad):
        return None, _Summed.apply(ctx.group, grad)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of (N, C, ...) over the batches of all processes; in a single one `BatchNorm2d`'s numbers.

    ``process_group``: whose processes; default: all. Other arguments as for :class:`BatchNorm2d`. Follows ``torch.nn.SyncBatchNorm``,
    and takes tensors of the CPU, which that one refuses.

    >>> import rushlight as torch
    >>> torch.nn.SyncBatchNorm(2)(torch.randn(4, 2, 3)).shape
    torch.Size([4, 2, 3])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: DeviceLike = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError(
                hinted(
                    "SyncBatchNorm number of input channels should be non-zero", f"input has the shape {input.shape}"
                )
            )

    def forward(self, input: Tensor) -> Tensor:
        group = self.process_group or process_group.world()
        if not self.training or group is None or group.size() == 1:
            return super().forward(input)
        self._check_input_dim(input)
        dims = [dim for dim in range(input.dim()) if dim != 1]
        count = _Summed.apply(group, input.new_tensor([input.numel() / input.shape[1]]))
        mean = _Summed.apply(group, input.sum(dims)) / count
        shape = [1, -1, *[1] * (input.dim() - 2)]
        centred = input - mean.view(shape)
        variance = _Summed.apply(group, centred.square().sum(dims)) / count
        self._note(mean.detach(), variance.detach(), float(count))
        result = centred * (variance + self.eps).rsqrt().view(shape)
        if self.weight is not None:
            result = result * self.weight.view(shape)
        return result if self.bias is None else result + self.bias.view(shape)

    def _note(self, mean, variance, count):
        """Move the running statistics towards those of a batch."""
        if self.running_mean is None:
            return
        with no_grad():
            self.num_batches_tracked.add_(1)
            share = 1.0 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
            self.running_mean.lerp_(mean, share)
            self.running_var.lerp_(variance * (count / max(count - 1.0, 1.0)), share)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Any:
        """Replace every batch norm in ``module`` by a `SyncBatchNorm` with its parameters and statistics; return it."""
        made = module
        if isinstance(module, _BatchNorm):
            made = cls(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group,
                bias=module.bias is not None,
            )  # fmt: skip
            if module.affine:
                made.weight, made.bias = module.weight, module.bias
            made.running_mean, made.running_var = module.running_mean, module.running_var
            made.num_batches_tracked = module.num_batches_tracked
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """A norm whose ``num_features`` is read from the first input; until then its parameters have no shape."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        # Built without features, so that the base class allocates nothing that counts.
        super().__init__(0, eps, momentum, False, False, device=device, dtype=dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = functions.zeros((), device=device, dtype=int64)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give parameters and statistics the number of channels that ``input`` has."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        members = [self.weight, self.bias] if self.affine else []
        if self.track_running_stats:
            members += [self.running_mean, self.running_var]
        for member in members:
            if member is not None:
                member.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """:class:`BatchNorm1d` that takes ``num_features`` from its first input (``torch.nn.LazyBatchNorm1d``)."""

    _input_dims = (2, 3)
    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """:class:`BatchNorm2d` that takes ``num_features`` from its first input (``torch.nn.LazyBatchNorm2d``).

    >>> import rushlight as torch
    >>> layer = torch.nn.LazyBatchNorm2d()
    >>> layer(torch.randn(2, 3, 4, 4)).shape, layer.num_features
    (torch.Size([2, 3, 4, 4]), 3)
    """

    _input_dims = (4,)
    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """:class:`BatchNorm3d` that takes ``num_features`` from its first input (``torch.nn.LazyBatchNorm3d``)."""

    _input_dims = (5,)
    cls_to_become = BatchNorm3d

"""Instance normalisation: every channel of every sample by its own mean and variance."""

from __future__ import annotations

import warnings

from ...base.device import DeviceLike
from ...base.dtypes import DType
from ...tensor import Tensor
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase


class _InstanceNorm(_NormBase):
    """``_input_dims`` holds two ranks: without and with a batch dimension."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: DeviceLike = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype, bias=bias
        )

    def _get_no_batch_dim(self):
        return self._input_dims[0]

    def _normalize(self, input):
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input.dim() != self._get_no_batch_dim()
        channel_dim = 1 if batched else 0
        if input.shape[channel_dim] != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={channel_dim} to match num_features ({self.num_features}), "
                    f"but got: {input.shape[channel_dim]}."
                )
            warnings.warn(
                f"input's size at dim={channel_dim} does not match num_features. You can silence this warning by "
                "not passing in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        if batched:
            return self._normalize(input)
        return self._normalize(input.unsqueeze(0)).squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (N, C, L) or (C, L). Arguments as for :class:`InstanceNorm2d`.

    Follows ``torch.nn.InstanceNorm1d``.
    """

    _input_dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalise every channel of every sample of (N, C, H, W) or (C, H, W) by its own mean and variance.

    ``affine`` (False) adds ``weight`` and ``bias``; ``track_running_stats`` (False) keeps averages at the rate
    ``momentum`` and uses them in evaluation. After Ulyanov et al., "Instance Normalization" (2016). Follows
    ``torch.nn.InstanceNorm2d``.

    >>> import rushlight as torch
    >>> torch.nn.InstanceNorm2d(3)(torch.randn(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    _input_dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (N, C, D, H, W) or (C, D, H, W). Arguments as for :class:`InstanceNorm2d`.

    Follows ``torch.nn.InstanceNorm3d``.
    """

    _input_dims = (4, 5)


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """:class:`InstanceNorm1d` that takes ``num_features`` from its first input (``torch.nn.LazyInstanceNorm1d``)."""

    _input_dims = (2, 3)
    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """:class:`InstanceNorm2d` that takes ``num_features`` from its first input (``torch.nn.LazyInstanceNorm2d``)."""

    _input_dims = (3, 4)
    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """:class:`InstanceNorm3d` that takes ``num_features`` from its first input (``torch.nn.LazyInstanceNorm3d``)."""

    _input_dims = (4, 5)
    cls_to_become = InstanceNorm3d

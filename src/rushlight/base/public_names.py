"""Where PyTorch keeps what lies in a module of ours: what its files, printed classes and generated code call it."""

from __future__ import annotations

import functools

# Module of ours -> PyTorch's, where that is not the same name under torch or torchvision; with a dot behind, what is below it.
_ELSEWHERE = """
autograd.anomaly torch.autograd.anomaly_mode
autograd.function_node torch.autograd.function
autograd.modes torch.autograd.grad_mode
base.device torch
base.dtypes torch
base.errors torch
base.size torch
base.streams torch
compat.checks torch
compat.modes torch.overrides
compat.records torch
distributed.checking torch.distributed.distributed_c10d
distributed.groups torch.distributed.distributed_c10d
distributed.messages torch.distributed.distributed_c10d
distributed.reductions torch.distributed.distributed_c10d
distributed.stores torch.distributed.distributed_c10d
distributed.work torch.distributed.distributed_c10d
distributions.transforms. torch.distributions.transforms
fx.code torch.fx.graph
jit._fuser torch.jit
nn.modules.attention torch.nn.modules.activation
nn.modules.embedding torch.nn.modules.sparse
nn.modules.linear_cross_entropy torch.nn.modules.loss
nn.modules.margin_loss torch.nn.modules.loss
nn.modules.parameter_container torch.nn.modules.container
nn.modules.rnn_cell torch.nn.modules.rnn
nn.modules.softmax torch.nn.modules.activation
nn.utils.prune_methods torch.nn.utils.prune
ops.linalg.checks torch._C
optim.lr_scheduler. torch.optim.lr_scheduler
random.generator torch._C
serialization.settings torch.serialization
tensor.base torch
tensor.overrides torch._C
tensor.storage torch._C
utils.recompute torch.utils.checkpoint
vision.models.weights torchvision.models._api
vision.transforms.containers torchvision.transforms.transforms
vision.transforms.convert torchvision.transforms.transforms
vision.transforms.geometry torchvision.transforms.transforms
vision.transforms.interpolation torchvision.transforms.functional
vision.transforms.random_color torchvision.transforms.transforms
vision.transforms.random_geometry torchvision.transforms.transforms
"""
_PACKAGE = __name__.partition(".")[0]
_HEADS = {f"{_PACKAGE}.compat.inside": "torch", f"{_PACKAGE}.vision": "torchvision", _PACKAGE: "torch"}


@functools.cache
def _table() -> dict[str, str]:
    return {f"{_PACKAGE}.{own}": public for own, public in map(str.split, _ELSEWHERE.strip().split("\n"))}


def public_module(name: str) -> str:
    """PyTorch's name for a module of ours; other names are given back.

    >>> public_module("rushlight.nn.modules.softmax"), public_module("rushlight.vision.ops.boxes"), public_module("numpy")
    ('torch.nn.modules.activation', 'torchvision.ops.boxes', 'numpy')
    """
    if name.partition(".")[0] != _PACKAGE:
        return name
    found = _table().get(name) or _table().get(name.rpartition(".")[0] + ".")
    if found is not None:
        return found
    head = next(head for head in _HEADS if name == head or name.startswith(head + "."))
    return _HEADS[head] + name.removeprefix(head)

"""Every operation on meta tensors gives the shapes, dtypes and strides that PyTorch's does, or that ours has on the CPU."""

import warnings

import pytest

from opinfo_calls import Skip, first_line, known_operations, rushlight, sampled_calls, torch

# Where PyTorch gives shapes without looking and we look (masks, bags, ends of a range given by tensors), or refuses in other words.
OTHERWISE = ("cov", "linspace", "logspace", "tensor_split", "index_put", "histogram", "nn.functional.embedding_bag")


def to_meta(value, module):
    if isinstance(value, module.Tensor):
        return value.to("meta")
    if isinstance(value, dict):
        return {key: to_meta(each, module) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(to_meta(each, module) for each in value)
    return value


def seen(value, module, device):
    """Device, shape, dtype and strides of a result; one of a call on the CPU passes for one of the meta device."""
    if isinstance(value, module.Tensor):
        place = "meta" if device == "cpu" else value.device.type
        return place, tuple(value.shape), str(value.dtype).rpartition(".")[2], value.stride() if value.numel() else None
    if isinstance(value, (list, tuple)):
        return tuple(seen(each, module, device) for each in value)
    return value if isinstance(value, (int, float, bool, str, type(None))) else type(value).__name__


def outcome(call, module, device):
    """What is seen of a call's results, or the error's type and first line."""
    args, kwargs = call.arguments(module)
    if device == "meta":
        args, kwargs = to_meta(args, module), to_meta(kwargs, module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = call.function(module)(*args, **kwargs)
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            return type(error).__name__, first_line(error)
    return seen(found, module, device)


@pytest.mark.slow
@pytest.mark.parametrize(
    "entry",
    [each for each in known_operations() if not each.name.startswith(OTHERWISE)],
    ids=lambda entry: entry.formatted_name,
)
def test_results_look_as_pytorchs_do(entry):
    for call in sampled_calls(entry, torch.float32, 2):
        try:
            theirs = outcome(call, torch, "meta")
        except (Skip, AssertionError):  # what PyTorch's own rules for shapes do not foresee
            continue
        ours = outcome(call, rushlight, "meta")
        if ours != theirs:
            alike = ours == outcome(call, rushlight, "cpu")
            refused = (
                isinstance(ours[0], str)
                and isinstance(theirs[0], str)
                and ours[0] == theirs[0]
                and ours[0].endswith("Error")
            )
            assert alike or refused, (call, ours, theirs)

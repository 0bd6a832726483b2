"""What optimizers written elsewhere import from ``torch.optim.optimizer`` and ``torch.utils._foreach_utils`` answers as PyTorch's."""

import importlib

import pytest

import rushlight

torch = pytest.importorskip("torch")

CALLS = """o._get_value(t.tensor(2.0))|o._get_value(3)|o._to_scalar(t.tensor([1.0]))|o._to_scalar(t.tensor(1.0))|o._to_scalar(2.0)
    |o._stack_if_compiling(4)|o._get_scalar_dtype()|o._get_scalar_dtype(True)|o._default_to_fused_or_foreach(params, False)
    |o._default_to_fused_or_foreach(params, True, True)|o._default_to_fused_or_foreach(params, False, True)
    |o._default_to_fused_or_foreach([t.ones(2, dtype=t.int32)], False, True)|o._default_to_fused_or_foreach([], False)
    |o._get_capturable_supported_devices()|o._get_capturable_supported_devices(False)|o._get_fused_kernels_supported_devices()
    |o._device_dtype_check_for_fused(params[0])|o._device_dtype_check_for_fused(t.ones(2, dtype=t.int32))
    |o._device_dtype_check_for_fused(params[0], True)|(complexes, states, o._view_as_real(complexes, states))[:2]
    |o._disable_dynamo_if_unsupported(single_tensor_fn=len)(abs)(-2)|o.StateDict|o._get_foreach_kernels_supported_devices()
    |sorted(map(str, f._group_tensors_by_device_and_dtype([params, steps]).items()))
    |sorted(map(str, o._group_tensors_by_device_and_dtype([params, steps, []], with_indices=True).items()))
    |f._group_tensors_by_device_and_dtype([])|f._group_tensors_by_device_and_dtype([[], []])
    |f._group_tensors_by_device_and_dtype([params, steps[:1]])|f._group_tensors_by_device_and_dtype([[None], params[:1]])
    |f._group_tensors_by_device_and_dtype([params[:1], [t.tensor(1)]])|f._device_has_foreach_support(t.device("cpu"))
    |f._has_foreach_support([2], t.device("cuda"))|f._has_foreach_support([params[0], None], t.device("cuda"))"""


def answer(library, text):
    name = library.__name__
    ones = library.ones
    values = {
        "t": library, "o": importlib.import_module(f"{name}.optim.optimizer"), "f": importlib.import_module(f"{name}.utils._foreach_utils"),
        "params": [library.nn.Parameter(ones(2)), library.nn.Parameter(ones(1, dtype=library.float64))], "steps": [library.tensor(1.0), None],
        "complexes": [ones(2, dtype=library.complex64), ones(1)], "states": [ones(2, dtype=library.complex64), ones(1)],
    }  # fmt: skip
    try:
        return str(eval(text, values))
    except RuntimeError as error:
        return str(error).splitlines()[0]


@pytest.mark.parametrize("text", [*map(str.strip, CALLS.split("|"))])
def test_helpers_answer_as_in_pytorch(text):
    assert answer(rushlight, text) == answer(torch, text)


def descent(library, differentiable):
    """An optimizer as others write it, on the helpers of ``library``."""
    optimizer = importlib.import_module(f"{library.__name__}.optim.optimizer")
    recorded = []

    class Descent(optimizer.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.1, "differentiable": differentiable})

        @optimizer._use_grad_for_differentiable
        def step(self, closure=None):
            recorded.append(library.is_grad_enabled())
            for group in self.param_groups:
                for param in group["params"]:
                    param.data.add_(param.grad, alpha=-optimizer._get_value(group["lr"]))

    param = library.nn.Parameter(library.tensor([1.0, 2.0]))
    (param**2).sum().backward()
    Descent([param]).step()
    return recorded, param.tolist(), library.is_grad_enabled()


@pytest.mark.parametrize("differentiable", [False, True])
def test_an_optimizer_on_them_makes_the_same_step(differentiable):
    assert descent(rushlight, differentiable) == descent(torch, differentiable)

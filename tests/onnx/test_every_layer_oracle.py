"""Every layer of which PyTorch's own tests have examples: ONNX Runtime gives the layer's numbers, or exporting names the operation."""

import os
import re
import warnings

import pytest

from opinfo_calls import Skip, carried, rushlight, torch

pytest.importorskip("onnx.checker")
pytest.importorskip("onnxruntime")
module_db = pytest.importorskip("torch.testing._internal.common_modules", exc_type=ImportError).module_db

EVERY = max(1, 900 // int(os.environ.get("RUSHLIGHT_EXAMPLES", "300")))  # of the examples one in so many
REFUSED = r"aten::fractional_max_pool'|aten::ctc_loss'|the call of ctc_loss_parts depends on the values"


def examples():
    """Layers in evaluation with the arguments of a call, as Rushlight's."""
    for entry in module_db:
        kind = getattr(rushlight.nn, entry.module_cls.__name__, None)
        if kind is None or not entry.module_cls.__module__.startswith("torch.nn.modules"):
            continue
        torch.manual_seed(0)
        for each in entry.module_inputs_func(
            entry, device="cpu", dtype=torch.float32, requires_grad=False, training=False
        ):
            made, given = each.constructor_input, each.forward_input
            if given is None:
                continue
            try:
                args, kwargs, inputs, named = (
                    carried(value, rushlight) for value in (made.args, made.kwargs, given.args, given.kwargs)
                )
            except Skip:  # a layer or a function among the arguments
                continue
            yield kind, args, kwargs, tuple(inputs), named


def outcome(layer, inputs, named):
    """What differs, in words; None where all is well."""
    wanted = [each for each in rushlight.utils._pytree.tree_leaves(layer(*inputs, **named)) if each is not None]
    try:
        program = rushlight.onnx.export(layer, inputs, kwargs=named, verbose=False)
    except (rushlight.onnx.errors.UnsupportedOperatorError, rushlight.onnx.OnnxExporterError) as error:
        return None if re.search(REFUSED, str(error)) else str(error)
    try:
        for one, other in zip(program(*inputs, **named), wanted, strict=True):
            rushlight.testing.assert_close(one, other.detach(), rtol=1e-5, atol=1e-5, equal_nan=True)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.slow
def test_every_layer():
    differing = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, args, kwargs, inputs, named in list(examples())[::EVERY]:
            layer = kind(*args, **kwargs).eval()
            found = outcome(layer, inputs, named)
            if found is not None:
                differing.append(f"{layer}: {found}")
    assert not differing, "\n".join(differing)

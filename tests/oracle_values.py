"""A call run with Rushlight and with PyTorch on the same numbers: values, dtypes, node names, gradients, errors."""

import warnings

import numpy as np

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "complex64": 2e-5, "float64": 1e-9, "complex128": 1e-9}


def laid_out(module, array, layout):
    """A tensor of these values: plain, or a transposed, sliced or expanded view."""
    if layout == "transposed" and array.ndim > 1:
        return module.from_numpy(np.ascontiguousarray(np.swapaxes(array, 0, -1))).transpose(0, -1)
    if layout == "sliced" and array.ndim:
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
        wide[..., 1::2] = array
        return module.from_numpy(wide)[..., 1::2]
    if layout == "expanded" and array.ndim:
        return module.from_numpy(array[:1].copy()).expand(array.shape)
    return module.from_numpy(np.array(array, order="C"))


def made(module, arrays, dtype, layout, tracked):
    """The named inputs as tensors: floating ones in ``dtype``, those in ``tracked`` as leaves that want gradients."""
    tensors = {}
    for name, array in arrays.items():
        tensor = laid_out(module, np.asarray(array), layout)
        if array.dtype.kind in "fc" and dtype is not None:
            tensor = tensor.to(getattr(module, dtype))
        if name in tracked:
            tensor = tensor.detach().requires_grad_(True)
        tensors[name] = tensor
    return tensors


def tensors_in(value):
    """All tensors of a result, in order."""
    if hasattr(value, "requires_grad"):
        return [value]
    return [t for item in value for t in tensors_in(item)] if isinstance(value, (tuple, list)) else []


def numbers(tensor):
    tensor = tensor.detach()
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.float()
    return np.asarray(tensor.resolve_conj().numpy(force=True))


def assert_close(found, expected, code, factor=1.0):
    assert tuple(found.shape) == tuple(expected.shape), code
    assert str(found.dtype) == str(expected.dtype), (code, found.dtype, expected.dtype)
    tolerance = TOLERANCE.get(str(expected.dtype)[6:], 0) * factor
    ours, theirs = numbers(found), numbers(expected)
    finite = np.abs(theirs[np.isfinite(theirs)]) if theirs.dtype.kind in "fc" else np.zeros(0)
    scale = max(1.0, float(finite.max(initial=0.0)))
    np.testing.assert_allclose(ours, theirs, tolerance, tolerance * scale, err_msg=code)


def run(module, functional, code, tensors):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(code, {"torch": module, "F": functional, **tensors})


def gradients(module, results, tensors, create_graph):
    """The gradients of the tracked inputs, from fixed weights on all results."""
    leaves = [t for t in tensors.values() if t.requires_grad]
    total = 0
    for number, result in enumerate(results):
        if result is None or not result.requires_grad:
            continue
        weights = np.cos(np.arange(result.numel()) + number).reshape(tuple(result.shape))
        product = result * module.from_numpy(weights).to(result.dtype)
        total = total + (product.real if product.is_complex() else product).sum()
    return leaves, module.autograd.grad(total, leaves, create_graph=create_graph, allow_unused=True)


def compare(torch, candidate, code, arrays, *, dtype=None, layout="plain", tracked=(), double=False, factor=1.0):
    """Assert that ``code`` gives the same with both libraries; ``double`` also compares gradients of gradients."""
    outcomes = []
    for module in (torch, candidate):
        tensors = made(module, arrays, dtype, layout, tracked)
        outcomes.append((tensors, tensors_in(run(module, module.nn.functional, code, tensors))))
    (their_tensors, theirs), (our_tensors, ours) = outcomes
    assert len(ours) == len(theirs), code
    for found, expected in zip(ours, theirs):
        assert_close(found, expected, code, factor)
    if not any(result.requires_grad for result in theirs):
        return
    theirs, ours = ([r for r in results if r.requires_grad] for results in (theirs, ours))
    assert len(ours) == len(theirs), code
    their_leaves, their_found = gradients(torch, theirs, their_tensors, double)
    our_leaves, our_found = gradients(candidate, ours, our_tensors, double)
    _compare_gradients(our_found, their_found, code, factor)
    if double and any(g is not None and g.requires_grad for g in their_found):
        second = []
        for module, leaves, found in ((torch, their_leaves, their_found), (candidate, our_leaves, our_found)):
            if not any(g is not None and g.requires_grad for g in found):
                second.append([None] * len(leaves))
                continue
            try:
                second.append(gradients(module, found, dict(enumerate(leaves)), False)[1])
            except (NotImplementedError, RuntimeError) as error:
                assert module is torch and "is not implemented" in str(error), code  # PyTorch lacks some
                return
        _compare_gradients(second[1], second[0], f"double gradient of {code}", factor)


def _compare_gradients(ours, theirs, code, factor):
    for found, expected in zip(ours, theirs):
        if expected is None or found is None:
            other = found if expected is None else expected
            assert other is None or not numbers(other).any(), f"gradient of {code}"
        else:
            assert_close(found, expected, f"gradient of {code}", 20 * factor)


def node_name(module, code, arrays, tracked):
    """The class name of the node of the (first) result."""
    tensors = made(module, arrays, None, "plain", tracked)
    return type(tensors_in(run(module, module.nn.functional, code, tensors))[0].grad_fn).__name__


def error_of(module, code, arrays):
    """(type name, first line) of what ``code`` raises, or None."""
    try:
        run(module, module.nn.functional, code, made(module, arrays, None, "plain", ()))
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0].rstrip()
    return None

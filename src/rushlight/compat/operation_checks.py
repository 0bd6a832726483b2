"""``torch.library.opcheck``: whether an operation that a program defines does what it says."""

from __future__ import annotations

from ..autograd import no_grad
from ..base.errors import hinted
from ..base.trees import tree_map
from ..tensor import Tensor
from .operators import CustomOpDef, find

_TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """An operation does not do what it says."""


def opcheck(op, args, kwargs=None, *, test_utils=_TESTS, raise_exception=True, atol=None, rtol=None):
    """Try an operation on sample arguments, in several ways.

    - ``test_schema``: it writes to the arguments in ``mutates_args`` alone, and returns none of its arguments;
    - ``test_autograd_registration``: a derivative, if there is one, belongs to the operation: always so here;
    - ``test_faketensor``: what ``register_fake`` was given has the shapes and dtypes of the result;
    - ``test_aot_dispatch_dynamic``: with gradients asked for, the result is the same, and the derivative gives gradients of
      the inputs' shapes.

    Returns a dict from each test to "SUCCESS", or with ``raise_exception=False`` to the error.
    """
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    unknown = set(names) - set(_TESTS)
    if unknown:
        raise ValueError(hinted(f"Invalid test_utils: {unknown}", f"they are among {', '.join(_TESTS)}"))
    operation, kwargs, results = find(op), kwargs or {}, {}
    for name in names:
        try:
            _CHECKS[name](operation, args, kwargs)
            results[name] = "SUCCESS"
        except Exception as error:  # whatever the operation raises is the answer
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            results[name] = error
    return results


def _copied(values):
    return tree_map(lambda value: value.detach().clone() if isinstance(value, Tensor) else value, values)


def _tensors(values):
    found = []
    tree_map(lambda value: found.append(value) if isinstance(value, Tensor) else None, values)
    return found


def _check_schema(operation, args, kwargs):
    args, kwargs = _copied(tuple(args)), _copied(kwargs)
    before = _copied((args, kwargs))
    with no_grad():
        result = operation.compute(*args, **kwargs)
    changes = operation.mutated_names() if isinstance(operation, CustomOpDef) else None
    if changes is None:
        return
    bound, earlier = operation.bound(args, kwargs), operation.bound(*before)
    for name in bound:
        if changes == "unknown" or name in changes:
            continue
        for now, then in zip(_tensors(bound[name]), _tensors(earlier[name])):
            if not now.equal(then):
                raise RuntimeError(
                    hinted(f"Argument {name} is not defined as mutable but was mutated", f"mutates_args=({name!r},)")
                )
    memory = {tensor.untyped_storage().data_ptr() for tensor in _tensors((args, kwargs)) if tensor.numel()}
    if any(tensor.numel() and tensor.untyped_storage().data_ptr() in memory for tensor in _tensors(result)):
        raise RuntimeError(
            hinted("The output of the operator aliases one of its inputs, which is not supported", "return a clone")
        )


def _check_registration(operation, args, kwargs):
    find(operation)


def _check_fake(operation, args, kwargs):
    with no_grad():
        real = operation.compute(*_copied(tuple(args)), **_copied(kwargs))
        if operation.fake is None:
            raise RuntimeError(
                hinted(
                    f"There was no fake impl registered for {operation}. This is necessary for torch.compile/export/fx tracing to "
                    "work. Please use `torch.library.register_fake` to add a fake impl.",
                    "it returns an empty tensor of the result's shape and dtype",
                )
            )
        fake = operation.fake(*_copied(tuple(args)), **_copied(kwargs))
    for one, other in zip(_tensors(real), _tensors(fake), strict=True):
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            raise RuntimeError(
                hinted(
                    "Mismatch between the fake result and the real one",
                    f"the operation gives {tuple(one.shape)} {one.dtype}, register_fake {tuple(other.shape)} {other.dtype}",
                )
            )


def _check_gradients(operation, args, kwargs):
    with no_grad():
        plain = _tensors(operation.compute(*_copied(tuple(args)), **_copied(kwargs)))
    asked = _tensors((args, kwargs))
    again = tree_map(
        lambda value: (
            value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value
        ),
        (tuple(args), kwargs),
    )
    found = _tensors(operation.compute(*again[0], **again[1]))
    for one, other in zip(plain, found, strict=True):
        if not one.allclose(other.detach(), equal_nan=True):
            raise RuntimeError(hinted("The result differs where gradients are asked for", "compare the two kernels"))
    roots = [tensor for tensor in found if tensor.requires_grad]
    if roots and any(tensor.requires_grad for tensor in asked):
        sum(root.sum() for root in roots).backward()


_CHECKS = dict(zip(_TESTS, (_check_schema, _check_registration, _check_fake, _check_gradients)))

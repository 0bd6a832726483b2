"""What PyTorch refuses before an elementwise operation runs, in its words."""

from ...base.errors import hinted

# Groups of dtype names, for ``refuse=``.
BOOL = ("bool",)
COMPLEX = ("complex64", "complex128")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")
NOT_FLOATING = (*BOOL, *INTEGERS, *COMPLEX)
FLOATING = ("float16", "bfloat16", "float32", "float64")
NOT_INTEGRAL = (*FLOATING, *COMPLEX)


def check_scalar_type(found, wanted):
    """PyTorch's refusal of a tensor of another dtype than its kernel reads."""
    if found is not wanted:
        raise RuntimeError(
            hinted(
                f"expected scalar type {wanted.legacy_name} but found {found.legacy_name}",
                f"nothing is promoted here: convert it with .to({wanted!r})",
            )
        )


def is_tensor(value):
    """Whether an operand is a Tensor, not a number."""
    return hasattr(value, "_edge")


def is_bool(value):
    """Whether an operand is a bool tensor or a Python bool."""
    return value._array.dtype.kind == "b" if is_tensor(value) else isinstance(value, bool)


def kind_of(value):
    """NumPy's letter for the category of an operand: b, i, u, f or c."""
    if is_tensor(value):
        dtype = value.dtype
        return "f" if dtype.is_floating_point else value._array.dtype.kind
    return (
        "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "f" if isinstance(value, float) else "c"
    )


def check_alpha(alpha, *operands):
    """A factor of a sum: as wide in category as the operands, never wider."""
    first = operands[0]
    if alpha.__class__ is int or (alpha.__class__ is float and is_tensor(first) and first._array.dtype.kind == "f"):
        return
    kinds = {kind_of(value) for value in operands}
    if isinstance(alpha, bool) and kinds != {"b"}:
        raise RuntimeError(hinted("Boolean alpha only supported for Boolean results.", "pass an int or a float"))
    if isinstance(alpha, (float, complex)) and not kinds & {"f", "c"}:
        raise RuntimeError(
            hinted(
                "For integral input tensors, argument alpha must not be a floating point number.",
                "convert the tensor with .float() first",
            )
        )
    if isinstance(alpha, complex) and "c" not in kinds:
        raise RuntimeError(
            hinted(
                "For non-complex input tensors, argument alpha must not be a complex number.",
                "convert the tensor to a complex dtype first",
            )
        )


def check_subtraction(self, other, alpha=1):
    """Bool tensors cannot be subtracted."""
    if is_bool(self) and is_bool(other):
        raise RuntimeError(
            hinted(
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                "`logical_xor()` operator "
                "instead.",
                "`a & ~b` is what is in a and not in b",
            )
        )
    if is_bool(self) or is_bool(other):
        raise RuntimeError(
            hinted(
                "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert "
                "a mask, use the "
                "`~` or `logical_not()` operator instead.",
                "convert the mask with .int() or .float() to compute with it",
            )
        )
    check_alpha(alpha, self, other)


def check_negation(self):
    """Bool tensors have no negative."""
    if is_bool(self):
        raise RuntimeError(
            hinted(
                "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
                "mask, use the `~` or "
                "`logical_not()` operator instead.",
                "convert the mask with .int() or .float() to compute with it",
            )
        )


def refuse_complex(sentence, error=RuntimeError):
    """A check that refuses complex tensors with a sentence of PyTorch's."""

    def check(*values):
        for value in values:
            if is_tensor(value) and value._array.dtype.kind == "c":
                raise error(hinted(sentence, "complex numbers have no order: take .real, .imag or .abs() first"))

    return check


def no_derivative(name):
    """A derivative rule that says, when backward comes to it, that there is none."""

    def rule(grad):
        raise RuntimeError(
            hinted(
                f"derivative for aten::{name} is not implemented", "detach() the inputs if no gradient is wanted here"
            )
        )

    rule.unknown = f"aten::{name} that does not support it."  # in the words of forward mode
    return rule


def unknown_derivative(name):
    """A derivative rule for an operand whose derivative is not known, in the words that PyTorch has for it."""

    def rule(grad):
        raise NotImplementedError(
            hinted(
                f"the derivative for '{name}' is not implemented.",
                "detach() that operand if its gradient is not wanted",
            )
        )

    operation = name.partition(":")[0]
    rule.unknown = (
        f"{operation} that does not support it because it has not been implemented yet."  # in forward mode's words
    )
    return rule


def refuse_complex_gradient(name, result):
    """Refuse a complex ``result``, to be tracked, of PyTorch's function ``name``, whose derivative it has for real numbers alone."""
    if result.is_complex():
        raise RuntimeError(
            hinted(
                f"{name} does not support automatic differentiation for outputs with complex dtype.",
                "detach() the operands, or compute with their real and imaginary parts",
            )
        )

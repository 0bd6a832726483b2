"""How a tensor becomes text: number formats, brackets, ellipses, suffixes and the options that steer them."""

from __future__ import annotations

from math import floor, inf, isfinite
from typing import Any

import numpy as np

from rushlight.base.contexts import contextmanager
from rushlight.base.errors import hinted
from rushlight.base.stored import widened

PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": inf, "edgeitems": 3, "linewidth": 80},
}

_options = {**PROFILES["default"], "sci_mode": None}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Choose how tensors print; torch.set_printoptions.

    Args:
        precision: digits after the decimal point (4).
        threshold: a tensor with more elements than this prints only its edges (1000; ``inf`` prints everything).
        edgeitems: elements kept at each end of a shortened dimension (3).
        linewidth: characters a line may take (80).
        profile: "default", "short" or "full" resets the four above first; any other name changes nothing.
        sci_mode: True or False forces scientific notation on or off; None lets each tensor's values decide. Unlike
            the others it is set by every call, so leaving it out means None.

    >>> import rushlight as torch
    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1.12345])
    tensor([1.12])
    >>> torch.set_printoptions(profile="default")
    """
    if profile is not None:
        _options.update(PROFILES.get(profile, {}))
    chosen = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({name: value for name, value in chosen.items() if value is not None})
    _options["sci_mode"] = sci_mode


def get_printoptions():
    """The print options in force, as a new dict that :func:`set_printoptions` accepts; torch._tensor_str has it.

    >>> from rushlight.tensor.printing import get_printoptions
    >>> get_printoptions()["edgeitems"]
    3
    """
    return dict(_options)


@contextmanager
def printoptions(**options):
    """Print options for the length of a ``with`` block; torch._tensor_str.printoptions.

    >>> import rushlight as torch
    >>> from rushlight.tensor.printing import printoptions
    >>> with printoptions(precision=1):
    ...     print(torch.tensor([0.25, 1.55]))
    tensor([0.2, 1.5])
    """
    before, in_force = get_printoptions(), _options
    try:
        set_printoptions(**options)
        yield
    finally:
        in_force |= before


def format_tensor(
    array,
    *,
    dtype_name,
    requires_grad=False,
    grad_fn_name=None,
    default_dtype_name="float32",
    device=None,
    prefix="tensor(",
    indent=None,
    contents=None,
    tangent=None,
):
    """The text of a tensor that holds ``array``, to the character what PyTorch prints.

    Args:
        array: the elements, in any dtype of rushlight; for the device "meta" only its shape is looked at.
        dtype_name: the tensor's dtype ("float32"), printed unless it is what PyTorch would take for granted.
        requires_grad, grad_fn_name: a node's class name prints as ``grad_fn=<MulBackward0>`` and wins over
            ``requires_grad=True``.
        default_dtype_name: the current default dtype, which goes unmentioned.
        device: its name where it should be told ("cuda:0"), None for the CPU.
        prefix: how the text opens: a subclass has its own name before the bracket.
        indent: columns before the brackets of further lines; by default the prefix's length.
        contents: text to show in place of the elements (``tensor_contents`` of ``Tensor.__repr__``).
        tangent: the text of a dual tensor's tangent.

    >>> import numpy as np
    >>> from rushlight.tensor.printing import format_tensor
    >>> print(format_tensor(np.array([[1.0, 2.5]]), dtype_name="float64", grad_fn_name="MulBackward0"))
    tensor([[1.0000, 2.5000]], dtype=torch.float64, grad_fn=<MulBackward0>)
    """
    indent = len(prefix) if indent is None else indent
    # With no element in sight, nothing tells an integer, a bool or a complex number from a float.
    unseen = array.size == 0 or device == "meta"
    if contents is None:
        contents = "..." if device == "meta" else "[]" if unseen else format_elements(array, indent)

    suffixes = []
    if device is not None:
        suffixes.append(f"device='{device}'")
    # PyTorch also adds the size to every tensor that has elements when edgeitems is 0.
    if device == "meta" or (array.ndim != 1 if unseen else _options["edgeitems"] == 0):
        suffixes.append(f"size={tuple(array.shape)}")
    if dtype_name != default_dtype_name and (unseen or not taken_for_granted(dtype_name, default_dtype_name)):
        suffixes.append(f"dtype=torch.{dtype_name}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    return with_suffixes(prefix + contents, suffixes, indent)


def format_scalar(array, spec, *, owner=None, plain=True):
    """``Tensor.__format__``: a 0-dim tensor formats as its Python number, any other as an ordinary object does.

    Args:
        array: the tensor's elements.
        spec: the format specification, such as ".3f".
        owner: the tensor itself, printed with ``str`` when it is not a number and ``spec`` is empty.
        plain: False for subclasses, Parameters among them, which never format as numbers.

    Raises:
        TypeError: ``spec`` is not empty and the tensor is not a plain 0-dim one.
        ValueError: the number's type does not know ``spec``.

    >>> import rushlight as torch
    >>> f"{torch.tensor(3.14159):.2f}"
    '3.14'
    """
    if plain and array.ndim == 0:
        # float() also reads bfloat16, whose item() is not a Python number.
        return format(array.item() if array.dtype.kind in "biuc" else float(array), spec)
    if not spec:
        return str(owner)
    kind = type(owner).__name__ if owner is not None else "Tensor"
    if array.size == 1:
        way_out = f"format its Python number: x.item() (the shape here is {tuple(array.shape)})"
    else:
        way_out = f"only a 0-dim tensor takes a format such as {spec!r}; this one has shape {tuple(array.shape)}"
    raise TypeError(hinted(f"unsupported format string passed to {kind}.__format__", way_out))


def taken_for_granted(dtype_name, default_dtype_name):
    """Whether the elements themselves give a dtype away, so that it goes unmentioned."""
    if dtype_name in ("int64", "bool"):
        return True
    return dtype_name == ("complex128" if default_dtype_name == "float64" else "complex64")


def with_suffixes(text, suffixes, indent, own_line=False):
    """Append ``, suffix`` for each suffix, on a new line where the current one would grow too long, and close.

    ``own_line`` puts the first on a new line in any case.
    """
    parts = [text]
    # PyTorch's count of the last line: one column more than it has, two where it is also the first.
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if own_line or column + len(suffix) + 2 > _options["linewidth"]:
            parts.append(",\n" + " " * indent + suffix)
            column, own_line = indent + len(suffix), False
        else:
            parts.append(", " + suffix)
            column += len(suffix) + 2
    parts.append(")")
    return "".join(parts)


def format_elements(array, indent):
    """The elements of a tensor that has some, in brackets, with the opening bracket at column ``indent``."""
    edge = _options["edgeitems"]
    cut = (False,) * array.ndim
    if array.ndim and array.size > _options["threshold"]:
        if edge == 0:
            return "[...]"
        cut = tuple(length > 2 * edge for length in array.shape)
        array = _edges(array, cut, edge)
    cells, width = _cells(array)
    if array.ndim == 0:
        return cells[0]
    columns = _options["linewidth"] - indent - (array.ndim - 1)
    per_line = max(1, floor(columns / (width + 2)))
    return _block(cells, array.shape, cut, indent, per_line)


def _edges(array, cut, edge):
    """What remains of an array when every dimension marked in ``cut`` keeps ``edge`` elements at each end."""
    kept = []
    for length, shortened in zip(array.shape, cut):
        positions = range(length)
        kept.append([*positions[:edge], *positions[-edge:]] if shortened else positions)
    return array[np.ix_(*kept)]


def _block(cells, shape, cut, indent, per_line):
    """The brackets of one dimension around its rows or blocks; ``cells`` are the elements' texts in C order."""
    if len(shape) == 1:
        if cut[0]:
            half = len(cells) // 2
            cells = [*cells[:half], " ...", *cells[half:]]
        pieces = [", ".join(cells[start : start + per_line]) for start in range(0, len(cells), per_line)]
        newlines = "\n"
    else:
        step = len(cells) // shape[0]
        starts = range(0, len(cells), step)
        pieces = [_block(cells[s : s + step], shape[1:], cut[1:], indent + 1, per_line) for s in starts]
        if cut[0]:
            pieces.insert(len(pieces) // 2, "...")
        newlines = "\n" * (len(shape) - 1)
    return "[" + ("," + newlines + " " * (indent + 1)).join(pieces) + "]"


def _cells(array):
    """Every element's text, in C order and padded to a common width, and the width that PyTorch reckons with."""
    array = widened(array)
    kind = array.dtype.kind
    if kind in "biu":
        texts = [str(value) for value in array.ravel().tolist()]
        width = max(map(len, texts))
    elif kind == "c":
        return _complex_cells(array)
    else:
        texts, width = _float_texts(array)
    return _padded(texts, width), width


def _complex_cells(array):
    """As :func:`_cells` for complex numbers: each part in a format of its own, the imaginary one not padded."""
    real_texts, real_width = _float_texts(array.real)
    imaginary_texts, imaginary_width = _float_texts(array.imag)
    cells = [
        f"{real}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
        for real, imaginary in zip(_padded(real_texts, real_width), imaginary_texts)
    ]
    return cells, real_width + imaginary_width + 1


def _float_texts(array):
    """Every float's text in the one format that suits them all, and the width of the widest.

    Only finite values other than zero have a say in either: zeros, infinities and NaNs follow.
    """
    values = array.astype(np.float64, copy=False).ravel().tolist()
    deciding = [value for value in values if value and isfinite(value)]
    if not deciding:
        return ["%#.0f" % value for value in values], 1
    whole = all(map(float.is_integer, deciding))
    scientific = _options["sci_mode"]
    if scientific is None:
        smallest, largest = min(map(abs, deciding)), max(map(abs, deciding))
        scientific = largest / smallest > 1000 or largest > 1e8 or (not whole and smallest < 1e-4)
    if scientific:
        template = f"%.{_options['precision']}e"
    elif whole:
        template = "%#.0f"  # the flag keeps the point: "3."
    else:
        template = f"%.{_options['precision']}f"
    texts = [template % value for value in values]
    if len(deciding) == len(values):
        return texts, max(map(len, texts))
    return texts, max(len(text) for text, value in zip(texts, values) if value and isfinite(value))


def _padded(texts, width):
    return [text.rjust(width) for text in texts]

"""Calls of the op table's records for the tests of vmap: arguments, the tensors in them, and batches of those."""

import itertools

from gradient_inputs import PREPARED, Fixed, arguments_of, index, regular, t

import rushlight as rl
from rushlight.ops.table import TABLE, functions
from rushlight.tensor.compute import schema_of

ROWS = rl.tensor([[0, 2], [1, 0], [1, 1]])
FLAGS = rl.tensor([[True, False, True], [False, True, True]])
_PAIR = lambda: (rl.tensor([[1, 2, 3], [4, 5, 6]]), rl.tensor([[3, 2, 1], [2, 1, 2]]))

# Records for which the tests of derivatives have no, or no fitting, arguments.
CALLS = {
    **dict.fromkeys(
        ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm"), _PAIR
    ),
    "bitwise_not": lambda: _PAIR()[:1],
    "bincount": lambda: (rl.tensor([0, 2, 1]), t(3), 4),
    "histogram_counts": lambda: (t(4, 1), [t(3).sort()[0]], t(4), False, "histogram"),
    "ldl_solution": lambda: (*rl.linalg.ldl_factor(regular()), t(3, 2), False),
    "permutation_of": lambda: (rl.tensor([2, 2, 3], dtype=rl.int32), 3, rl.float64),
    "nonzero_static": lambda: (FLAGS, 3, -1),
    "one_hot_rows": lambda: (ROWS, 4),
    "view_dtype": lambda: (t(2, 3), rl.int64),
    "histc": lambda: (t(6), 3, 0.0, 1.0),
    "search_positions": lambda: (t(4).sort()[0], t(2, 3)),
    "masked_fill": lambda: (t(2, 3), FLAGS, t()),
    "masked_fill_": lambda: (t(2, 3), FLAGS, t()),
    "gather": lambda: (t(3, 3), 1, ROWS),
    **dict.fromkeys(("scatter_combined", "scatter_combined_"), lambda: (t(3, 3), 1, ROWS, t(3, 2), "add")),
    "fake_quantize_by_channels": lambda: (t(2, 3), t(3).abs(), rl.zeros(3, dtype=rl.int32), 1, -5, 5),
    "placed": lambda: (t(3), 1, ROWS[:, 0], (3, 3)),
    "put": lambda: (t(2, 3), index(1, -5), t(2)),
    "index_fill": lambda: (t(3, 2), 0, index(1, -3), t()),
}
# Only what is given here is mapped, the rest is shared: (positions of the tensors, by which name).
ONLY = {"masked_select": (0,), "histogram_counts": (2,)}
# Refused by vmap, or random, or without any tensor that could be mapped.
REFUSED = frozenset(("nonzero_rows", "unique_parts"))
# Gradients of fused operations, which need what those gave: test_batching.py reaches them through vmap of gradients.
THROUGH_GRADIENTS = frozenset(
    (
        "attention_backward",
        "ctc_loss_gradient",
        "cross_entropy_gradient",
        "distance_gradient",
        "layer_norm_gradients",
        "rms_norm_gradients",
        "group_norm_gradients",
        "batch_norm_gradients",
        "max_pool_values_gradient",
        "lstm_layer_backward",
        "lstm_sequence_backward",
        "rnn_sequence_backward",
        "gru_sequence_backward",
        "rnn_layer_backward",
        "gru_layer_backward",
        "lstm_gates_backward",
        "gru_gates_backward",
    )
)
# Where memory, not only values, decides: they are tested with the batch first.
BY_MEMORY = frozenset(
    ("as_strided", "as_strided_copy", "as_strided_scatter", "view_as_complex", "view_as_complex_copy")
)


def tensors_in(value):
    """The tensors in an argument or a result, in order."""
    if isinstance(value, Fixed):
        return [value.value]
    if hasattr(value, "_edge"):
        return [value]
    return [each for item in value for each in tensors_in(item)] if isinstance(value, (tuple, list)) else []


def _filled(value, tensors):
    if isinstance(value, Fixed) or hasattr(value, "_edge"):
        return next(tensors)
    return type(value)(_filled(item, tensors) for item in value) if isinstance(value, (tuple, list)) else value


def _variants(tensor, count):
    """``count`` tensors like one, with other elements."""
    if tensor.is_floating_point() or tensor.is_complex():
        return [tensor * (1 + 0.05 * number) for number in range(count)]
    return [tensor.flip(tuple(range(tensor.dim()))) if number % 2 else tensor.clone() for number in range(count)]


class MappedCall:
    """One call of a record: a function of its tensors, and batches of them."""

    def __init__(self, name):
        rl.manual_seed(0)
        self.name, self.op = name, TABLE[name]
        self.schema = schema_of(self.op)
        self.arguments = list(CALLS[name]()) if name in CALLS else arguments_of(self.op)
        self.tensors = tensors_in(self.arguments)
        self.function = getattr(functions, name)

    def __call__(self, *tensors):
        arguments = list(_filled(self.arguments, iter(tensors)))
        if self.name in PREPARED:
            arguments = list(PREPARED[self.name](*arguments))
        options = {
            a.name: arguments.pop() for a in reversed(self.schema.arguments[self.schema.positional : len(arguments)])
        }
        return tuple(tensors_in(self.function(*arguments, **options)))

    def places(self):
        """Which of the tensors a gradient may be taken for."""
        names = [
            argument.name for argument, value in zip(self.schema.arguments, self.arguments) for _ in tensors_in([value])
        ]
        return [
            place
            for place, (name, tensor) in enumerate(zip(names, self.tensors))
            if (tensor.is_floating_point() or tensor.is_complex()) and name not in self.op.constants
        ]

    def subsets(self):
        """Which tensors are mapped: every choice that makes sense."""
        count = len(self.tensors)
        for chosen in itertools.product((True, False), repeat=count):
            if self.name in ONLY:
                if [place for place, each in enumerate(chosen) if each] != list(ONLY[self.name]):
                    continue
            elif not any(chosen) or (self.op.kind == "inplace" and not chosen[0]):
                continue
            yield chosen

    def batch(self, chosen, size, dim=0):
        """``(arguments of a mapped call, in_dims, the arguments of each entry)``."""
        variants = [_variants(tensor, size) for tensor in self.tensors]
        entries = [
            [
                v[entry].clone() if mapped else tensor.clone()
                for v, mapped, tensor in zip(variants, chosen, self.tensors)
            ]
            for entry in range(size)
        ]
        mapped = [
            rl.stack(v, dim) if each else tensor.clone() for v, each, tensor in zip(variants, chosen, self.tensors)
        ]
        return mapped, tuple(dim if each else None for each in chosen), entries


def assert_same(found, expected, what=""):
    """Shapes, dtypes and values agree."""
    assert found.shape == expected.shape and found.dtype is expected.dtype, what
    if found.is_floating_point() or found.is_complex():
        assert rl.allclose(found, expected, 1e-5, 1e-7, equal_nan=True), what
    else:
        assert bool((found == expected).all()), what

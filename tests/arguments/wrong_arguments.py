"""The meter of wrong arguments: every value of a wrong kind in every place of every function and layer, in Rushlight and in PyTorch.

``python tests/arguments/wrong_arguments.py [NAME ...]`` prints how the outcomes compare; with ``-v`` also those that differ.
"""

import collections
import functools
import inspect
import re
import sys
import warnings

import numpy as np

import rushlight as rl
from rushlight.ops.native_calls import derived, forms_of, lines

KINDS = {
    "an array": lambda m: np.ones((2, 2), np.float32),
    "a list": lambda m: [1, 2],
    "a nested list": lambda m: [[1.0, 2.0]],
    "a tuple": lambda m: (1, 2),
    "floats": lambda m: (1.5, 2.5),
    "strings": lambda m: ["a"],
    "nothing in a list": lambda m: [],
    "an LSTM's output": lambda m: (m.ones(2, 2), (m.ones(1, 2), m.ones(1, 2))),
    "None": lambda m: None,
    "a string": lambda m: "a",
    "a bool": lambda m: True,
    "an int": lambda m: 2,
    "a float": lambda m: 2.5,
    "a complex number": lambda m: 2j,
    "a dict": lambda m: {},
    "a set": lambda m: {1},
    "a module": lambda m: m.nn.ReLU(),
    "a class": lambda m: object,
    "a dtype": lambda m: m.float32,
    "a 0-dim tensor of int": lambda m: m.tensor(1),
    "a 0-dim tensor": lambda m: m.tensor(1.5),
    "a tensor": lambda m: m.ones(2, 2),
    "NumPy's float": lambda m: np.float32(2),
    "NumPy's int": lambda m: np.int64(2),
    "NumPy's bool": lambda m: np.bool_(True),
}
# A value that fits, by the kind of an argument.
_FITTING = {
    "Tensor": lambda m: m.ones(2, 2), "Tensor[]": lambda m: [m.ones(2, 2), m.ones(2, 2)], "Number": lambda m: 1, "int": lambda m: 1,
    "index": lambda m: 1, "float": lambda m: 0.5, "bool": lambda m: False, "str": lambda m: "sum", "dtype": lambda m: m.float32,
    "int[]": lambda m: (1, 1), "index[]": lambda m: (1, 1), "float[]": lambda m: (0.5, 0.5), "Number[]": lambda m: (1, 1),
}  # fmt: skip
_LEAK = re.compile(r"attribute '_[a-z]|DType|<object object|<locals>")
SAME, TYPE, OTHER, LEAK = "same type and first line", "same type", "different type", "leak of inner names"
WE_ACCEPT, IT_ACCEPTS, BOTH, PROTOCOL = (
    "we accept, it refuses",
    "it accepts, we refuse",
    "both accept",
    "NotImplemented",
)


class Call:
    """A call to make with either module: ``arguments(module)`` gives ``(args, kwargs)``."""

    def __init__(self, what, arguments):
        self.what, self.arguments = what, arguments


def _filled(form, chosen, make, by_name, extra=(), leave_out=None, named=None):
    def arguments(m):
        args, kwargs = [], dict(named or {})
        for place, argument in enumerate(form.arguments):
            if argument is leave_out or (argument is not chosen and argument.default):
                continue
            value = make(m) if argument is chosen else _FITTING.get(argument.kind, lambda m: None)(m)
            named_one = argument.keyword_only or kwargs or len(args) < place or (argument is chosen and by_name)
            if named_one:
                kwargs[argument.name] = value
            else:
                args.append(value)
        return [*args, *extra], kwargs

    return arguments


def calls_of(form, kinds=KINDS):
    """The calls of one form with one wrong argument, one too few, too many or unknown."""
    for argument in form.arguments:
        for kind, make in kinds.items():
            if not argument.keyword_only:
                yield Call(f"{argument.name}: {kind}", _filled(form, argument, make, False))
            yield Call(f"{argument.name}=: {kind}", _filled(form, argument, make, True))
    required = [argument for argument in form.arguments if not argument.default]
    yield Call("unknown keyword", _filled(form, None, None, False, named={"nonsense": 1}))
    yield Call("too many", _filled(form, None, None, False, extra=[1] * (len(form.arguments) + 1)))
    for argument in {id(each): each for each in (required[:1] + required[-1:])}.values():
        yield Call(f"without {argument.name}", _filled(form, None, None, False, leave_out=argument))


def subjects():
    """``(room, name)`` of every native function that both have, methods included."""
    page = lines()
    names = [key for key, forms in page.items() if not forms[0].startswith("=") and key[0] != "native"]
    names += [
        ("Tensor", name)
        for room, name in names
        if room == "torch" and ("Tensor", name) not in page and derived(name, page)
    ]
    return [key for key in names if not key[1].startswith("_") and key[1] not in ("from_file", "set_", "resize")]


def function_of(module, room, name):
    """The public function; None where the module has none."""
    holder = {"torch": module, "Tensor": module.Tensor, "nn": module.nn.functional}.get(room) or getattr(module, room)
    return getattr(holder, name.removeprefix(room + "_") if room in ("fft", "linalg", "special") else name, None)


def outcome(module, arguments, function):
    """What a call does: (class of the error, first line), or "ok"."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        args, kwargs = arguments(module)
        try:
            found = function(*args, **kwargs)
        except Exception as error:
            return type(error).__name__, re.sub("0x[0-9a-f]+", "0x", str(error).split("\n")[0])
    return ("NotImplemented", "") if found is NotImplemented else ("ok", "")


def verdict(ours, theirs):
    """How two outcomes compare."""
    if ours[0] == "NotImplemented" and theirs[0] != "NotImplemented":
        return PROTOCOL
    if "ok" in (ours[0], theirs[0]):
        return BOTH if ours[0] == theirs[0] else WE_ACCEPT if ours[0] == "ok" else IT_ACCEPTS
    if ours == theirs:
        return SAME
    return LEAK if _LEAK.search(ours[1]) else TYPE if ours[0] == theirs[0] else OTHER


def is_about_kinds(ours, theirs):
    """Whether a call is refused for its kinds by one of them, not for shapes and values."""
    return bool({"TypeError", "AttributeError", "NotImplemented"} & {ours[0], theirs[0]})


def measure(torch, names=None, kinds=KINDS):
    """Counts of verdicts, and ``(verdict, room, name, call, ours, theirs)`` of those that differ."""
    counts, differing = collections.Counter(), []
    for room, name in subjects():
        mine, reference = function_of(rl, room, name), function_of(torch, room, name)
        if mine is None or reference is None or (names and name not in names):
            continue
        for form in forms_of(room, name):
            for call in () if form.hidden or not _is_of(form, reference) else calls_of(form, kinds):
                arguments = _with_self(call.arguments) if room == "Tensor" else call.arguments
                theirs = outcome(torch, arguments, reference)
                ours = outcome(rl, arguments, mine)
                if is_about_kinds(ours, theirs):
                    found = verdict(ours, theirs)
                    counts[found] += 1
                    if found not in (SAME, BOTH):
                        differing.append((found, room, name, call.what, ours, theirs))
    return counts, differing


def _is_of(form, function):
    """Whether a form is that of a public function, not of a native one that a Python function of the same name calls."""
    code = getattr(function, "__code__", None)
    return code is None or {argument.name for argument in form.arguments} <= {*inspect.signature(function).parameters}


def _with_self(arguments):
    def with_self(m):
        args, kwargs = arguments(m)
        return [m.ones(2, 2), *args], kwargs

    return with_self


# ---------------------------------------------------------------- layers

_OF_NOTHING = (
    "Identity ReLU ReLU6 LeakyReLU PReLU RReLU ELU CELU SELU GELU SiLU Mish Sigmoid LogSigmoid Tanh Tanhshrink Softplus "
    "Softsign Softshrink Hardshrink Hardtanh Hardsigmoid Hardswish GLU Softmax2d Dropout Dropout1d Dropout2d Dropout3d "
    "AlphaDropout FeatureAlphaDropout Flatten L1Loss MSELoss SmoothL1Loss HuberLoss CrossEntropyLoss NLLLoss BCELoss "
    "BCEWithLogitsLoss KLDivLoss PoissonNLLLoss GaussianNLLLoss SoftMarginLoss MultiLabelMarginLoss MultiMarginLoss "
    "HingeEmbeddingLoss MarginRankingLoss CosineEmbeddingLoss TripletMarginLoss CosineSimilarity PairwiseDistance"
)
_OF_TWO = (
    "MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d "
    "AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d "
    "LayerNorm RMSNorm LocalResponseNorm Unfold PixelShuffle PixelUnshuffle ChannelShuffle Upsample ZeroPad2d ReflectionPad1d "
    "ReplicationPad1d CircularPad1d"
)
# The arguments that make each layer.
LAYERS = {
    **dict.fromkeys(_OF_NOTHING.split(), ()),
    **dict.fromkeys(_OF_TWO.split(), (2,)),
    **dict.fromkeys(("Linear", "RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell", "Embedding", "EmbeddingBag", "LPPool1d"), (2, 2)),
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"), (1, 1, 1)),
    "Softmax": (1,), "LogSoftmax": (1,), "Softmin": (1,), "Threshold": (1, 1), "GroupNorm": (1, 2), "Bilinear": (2, 2, 2),
    "Unflatten": (1, (1, 2)), "Fold": ((2, 2), 1), "MultiheadAttention": (2, 1), "TransformerEncoderLayer": (2, 1),
}  # fmt: skip


def measure_layers(torch, kinds=KINDS):
    """`measure` for layers: their constructors, and the calls of what these make."""
    counts, differing = collections.Counter(), []
    for name, given in LAYERS.items():
        for what, arguments, made in _layer_calls(torch, name, given, kinds):
            ours, theirs = (
                outcome(m, arguments, getattr(m.nn, name)(*given) if made else getattr(m.nn, name)) for m in (rl, torch)
            )
            if is_about_kinds(ours, theirs):
                found = verdict(ours, theirs)
                counts[found] += 1
                if found not in (SAME, BOTH):
                    differing.append((found, "nn", name, what, ours, theirs))
    return counts, differing


def _layer_calls(torch, name, given, kinds):
    kind = getattr(torch.nn, name)
    parameters = [
        p for p in list(inspect.signature(kind.__init__).parameters.values())[1:] if p.kind == p.POSITIONAL_OR_KEYWORD
    ]
    for place, parameter in enumerate(parameters):
        for label, make in kinds.items():
            yield (
                f"({parameter.name}={label})",
                functools.partial(_constructed, given, place, parameter.name, make),
                False,
            )
    yield "(unknown keyword)", lambda m: (given, {"nonsense": 1}), False
    inputs = [
        p
        for p in list(inspect.signature(kind.forward).parameters.values())[1:]
        if p.default is p.empty and p.kind == p.POSITIONAL_OR_KEYWORD
    ]
    for place, parameter in enumerate(inputs):
        for label, make in kinds.items():
            yield f"()({parameter.name}={label})", functools.partial(_called, len(inputs), place, make), True
    yield "()()", lambda m: ((), {}), True


def _constructed(given, place, name, make, m):
    args = list(given)
    if place < len(args):
        args[place] = make(m)
        return args, {}
    return args, {name: make(m)}


def _called(count, place, make, m):
    return [make(m) if number == place else m.ones(2, 2) for number in range(count)], {}


if __name__ == "__main__":
    import torch

    names = [name for name in sys.argv[1:] if name != "-v"]
    for title, (counts, differing) in (
        ("functions and methods", measure(torch, names)),
        ("layers", (collections.Counter(), []) if names else measure_layers(torch)),
    ):
        print(title, *(f"  {count:7d}  {found}" for found, count in counts.most_common()), sep="\n")
        if "-v" in sys.argv:
            print(
                *(
                    f"{found}: {room}.{name} {call}\n    {ours}\n    {theirs}"
                    for found, room, name, call, ours, theirs in differing
                ),
                sep="\n",
            )

"""Writes src/rushlight/ops/native_signatures.txt, what PyTorch's native functions take, from the list inside its wheel.

``python tools/write_signatures.py`` where torch and PyYAML are installed. The list says which calls a function of PyTorch
takes; what it says of a call that none of them fits follows from it (ops/native_calls.py).
"""

import collections
import os
import re
from pathlib import Path

import torch
import torchgen
from torchgen.gen import parse_native_yaml
from torchgen.packaged.autograd import gen_python_functions as native

import rushlight
from rushlight.ops.native_calls import derived

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "src" / "rushlight" / "ops" / "native_signatures.txt"
HEAD = """\
# What PyTorch's native functions take, for the messages of calls that do not fit: written by tools/write_signatures.py.
# A line holds the forms of one function in the order in which they are tried. "index" is an int that may be anything with
# __index__; "+options" stands for the arguments of every function that makes a tensor; "hidden" forms are not counted or shown.
# A method that has no line takes what the function does, without its first tensor and without out; so do in-place forms.
# Lines of "functional" say which native function gets the arguments of one that is written in Python.
"""
WORDS = {
    "Scalar": "Number", "int64_t": "int", "SymInt": "index", "double": "float", "c10::string_view": "str", "TensorList": "Tensor[]",
    "SymIntArrayRef": "index[]", "IntArrayRef": "int[]", "ScalarType": "dtype", "Layout": "layout", "Device": "device",
    "MemoryFormat": "memory_format", "ScalarList": "Number[]", "ArrayRef<double>": "float[]", "DeviceIndex": "int",
    "c10::List<::std::optional<Tensor>>": "Tensor?[]",
}  # fmt: skip
OPTIONS = (
    "dtype? dtype=None, layout? layout=None, device? device=None, bool? pin_memory=False, bool? requires_grad=False"
)
# Made by hand in PyTorch, so the list has them not.
OTHERS = (
    """\
torch tensor(object data, *, dtype? dtype=None, device? device=None, bool pin_memory=False, bool requires_grad=False)
torch as_tensor(object data, *, dtype? dtype=None, device? device=None)
torch asarray(object obj, *, dtype? dtype=None, device? device=None, bool? copy=None, bool requires_grad=False)
torch frombuffer(object buffer, *, dtype dtype, int count=-1, int offset=0, bool requires_grad=False)
torch nonzero(Tensor input, *, Tensor out=None)
torch nonzero(Tensor input, *, bool as_tuple)
torch range(Number start, Number end, Number step=1, *, Tensor out=None, +options)
Tensor size(int? dim=None)
Tensor stride(int? dim=None)
Tensor nonzero()
Tensor nonzero(*, bool as_tuple)
Tensor numpy(*, bool force=False)
Tensor contiguous(*, memory_format? memory_format=torch.contiguous_format)
Tensor is_contiguous(*, memory_format? memory_format=torch.contiguous_format)
Tensor requires_grad_(bool requires_grad=True)
Tensor copy_(Tensor other, bool non_blocking=False)
Tensor new_tensor(object data, *, dtype? dtype=None, device? device=None, bool pin_memory=False, bool requires_grad=False)
Tensor to(device device=None, dtype dtype=None, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None)
Tensor to(dtype dtype, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None)
Tensor to(Tensor tensor, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None)
Tensor apply_(object callable)
""".splitlines()
    + [
        f"Tensor {name}(*, memory_format? memory_format=None)"
        for name in "float double half bfloat16 int long short char byte bool cfloat cdouble cpu".split()
    ]
)


def in_our_words(text):
    """A form as PyTorch's list writes it, in the words of its messages."""
    hidden = text.endswith("|deprecated")
    text = text.removesuffix("|deprecated")
    for theirs, ours in WORDS.items():
        text = re.sub(
            rf"(?<=[(, ]){re.escape(theirs)}(\[\d+\])?(?=\??[ ])",
            lambda found: ours if not found[1] else ours.replace("[]", found[1]),
            text,
        )
    return ("hidden " if hidden else "") + text.replace(OPTIONS, "+options")


# What functions of nn.functional that are written in Python give their arguments to, and what Tensor's methods do; "~" stands for
# the underscore of the in-place form where inplace=True. Where PyTorch looks at attributes before, there is nothing to say.
CALLS = """\
celu = torch celu~(input, alpha)
elu = nn elu~(input, alpha)
relu = torch relu~(input)
relu6 = nn relu6~(input)
selu = torch selu~(input)
silu = nn silu~(input)
mish = nn mish~(input)
hardsigmoid = nn hardsigmoid~(input)
hardswish = nn hardswish~(input)
hardtanh = nn hardtanh~(input, min_val, max_val)
leaky_relu = nn leaky_relu~(input, negative_slope)
threshold = torch threshold~(input, threshold, value)
_threshold = torch threshold~(input, threshold, value)
rrelu = torch rrelu~(input, lower, upper, training)
glu = nn glu(input, dim)
dropout = torch dropout~(input, p, training)
alpha_dropout = torch alpha_dropout~(input, p, training)
feature_alpha_dropout = torch feature_alpha_dropout~(input, p, training)
layer_norm = torch layer_norm(input, normalized_shape, weight, bias, eps, False)
rms_norm = torch rms_norm(input, normalized_shape, weight, eps)
instance_norm = torch instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)
batch_norm = torch batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)
adaptive_avg_pool1d = torch adaptive_avg_pool1d(input, output_size)
adaptive_max_pool1d = torch adaptive_max_pool1d(input, output_size)
adaptive_max_pool2d = nn adaptive_max_pool2d(input, output_size)
adaptive_max_pool3d = nn adaptive_max_pool3d(input, output_size)
adaptive_max_pool1d_with_indices = torch adaptive_max_pool1d(input, output_size)
adaptive_max_pool2d_with_indices = nn adaptive_max_pool2d(input, output_size)
adaptive_max_pool3d_with_indices = nn adaptive_max_pool3d(input, output_size)
max_pool1d = torch max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)
max_pool2d = torch max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)
max_pool3d = torch max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)
max_pool1d_with_indices = torch max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
max_pool2d_with_indices = nn max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
max_pool3d_with_indices = nn max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
embedding = torch embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)
cross_entropy = nn cross_entropy_loss(input, target, weight, 1, ignore_index, label_smoothing)
nll_loss = nn nll_loss_nd(input, target, weight, 1, ignore_index)
ctc_loss = torch ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, 1, zero_infinity)
binary_cross_entropy_with_logits = torch binary_cross_entropy_with_logits(input, target, weight, pos_weight, 1)
kl_div = torch kl_div(input, target, 1, log_target=log_target)
hinge_embedding_loss = torch hinge_embedding_loss(input, target, margin, 1)
multi_margin_loss = nn multi_margin_loss(input, target, p, margin, weight, 1)
multilabel_margin_loss = nn multilabel_margin_loss(input, target, 1)
soft_margin_loss = nn soft_margin_loss(input, target, 1)
poisson_nll_loss = torch poisson_nll_loss(input, target, log_input, full, eps, 1)
triplet_margin_loss = torch triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, 1)
pad = nn pad(input, pad, mode, value)
""".splitlines()
# Written in Python though the list has them.
PYTHON = frozenset(
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cdist chain_matmul einsum meshgrid norm split "
    "stft istft tensordot unique_consecutive unflatten".split()
)


def builtins():
    """Which native function each built-in one of nn.functional is."""
    for name, function in sorted(vars(torch.nn.functional).items()):
        if type(function).__name__ == "builtin_function_or_method" and hasattr(rushlight.nn.functional, name):
            room = "nn" if getattr(torch._C._nn, function.__name__, None) == function else "torch"
            yield f"{name} = {room} {function.__name__}"


def is_bound(room, name):
    """Whether Rushlight has the function, or functions that PyTorch writes in Python call it."""
    if room == "nn":
        return True
    if room in ("fft", "linalg", "special"):
        return hasattr(getattr(rushlight, room), name.removeprefix(room + "_"))
    return hasattr(rushlight if room == "torch" else rushlight.Tensor, name) or (room == "torch" and name in CALLED)


CALLED = ("_weight_norm", "embedding_renorm_", "native_channel_shuffle")


def forms():
    """Every form as ``room form``."""
    packaged = Path(os.path.dirname(torchgen.__file__)) / "packaged"
    listed = parse_native_yaml(packaged / "ATen/native/native_functions.yaml", packaged / "ATen/native/tags.yaml")
    bound = [entry for entry in listed.native_functions if native.should_generate_py_binding(entry)]
    rooms = {
        "torch": native.is_py_torch_function, "nn": native.is_py_nn_function, "fft": native.is_py_fft_function,
        "linalg": native.is_py_linalg_function, "special": native.is_py_special_function, "Tensor": native.is_py_variable_method,
    }  # fmt: skip
    for room, belongs in rooms.items():
        pairs = native.load_signatures(bound, packaged / "autograd/deprecated.yaml", method=room == "Tensor", pyi=False)
        grouped = collections.defaultdict(list)
        for pair in pairs:
            if belongs(pair.function):
                grouped[str(pair.function.func.name.name)].append(pair)
        for name, members in sorted(grouped.items()):
            if is_bound(room, name):
                for member in native.sort_overloads(native.group_overloads(members)):
                    yield f"{room} {in_our_words(member.signature.signature_str(skip_outputs=False))}"


def grouped(found):
    """The forms of each function, ``(room, name) -> ["(Tensor input)", "hidden (...)", ...]``."""
    functions = collections.defaultdict(list)
    for form in found:
        room, hidden, name, inside = re.match(r"(\w+) (hidden )?(\w+)(\(.*\))$", form).groups()
        functions[room, name].append((hidden or "") + inside)
    return functions


if __name__ == "__main__":
    functions = grouped([*forms(), *OTHERS])
    lines = [
        f"{room} {name} {' | '.join(found)}"
        for (room, name), found in functions.items()
        if (room != "Tensor" or derived(name, functions) != found) and name not in PYTHON
    ]
    lines += [f"functional {call}" for call in (*builtins(), *CALLS)]
    PAGE.write_text(HEAD + "\n".join(lines) + "\n")
    print(PAGE, len(lines))

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
# Behind "=" stand the attributes that a function written in Python looks at, and the native function that gets its arguments.
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
CASTS = "float double half bfloat16 int long short char byte bool cfloat cdouble cpu"
# Made by hand in PyTorch, so the list has them not.
OTHERS = (
    """\
torch tensor(object data, *, dtype? dtype=None, device? device=None, bool pin_memory=False, bool requires_grad=False)
torch as_tensor(object data, *, dtype? dtype=None, device? device=None)
torch asarray(object obj, *, dtype? dtype=None, device? device=None, bool? copy=None, bool requires_grad=False)
torch frombuffer(object buffer, *, dtype dtype, int count=-1, int offset=0, bool requires_grad=False)
torch nonzero(Tensor input, *, bool as_tuple=False, Tensor out=None)
torch range(Number start, Number end, Number step=1, *, Tensor out=None, dtype? dtype=None, layout layout=torch.strided, device? device=None, bool requires_grad=False)
Tensor size(int? dim=None)
Tensor stride(int? dim=None)
Tensor nonzero()
Tensor nonzero(*, bool as_tuple)
Tensor numpy(*, bool force=False)
Tensor contiguous(*, memory_format? memory_format=torch.contiguous_format)
Tensor is_contiguous(*, memory_format? memory_format=torch.contiguous_format)
Tensor requires_grad_(bool requires_grad=True)
Tensor copy_(Tensor other, bool non_blocking=False)
Tensor new_tensor(object data, *, dtype? dtype=None, device? device=None, bool requires_grad=False)
Tensor to(device device=None, dtype dtype=None, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None)
Tensor to(dtype dtype, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None)
Tensor to(Tensor tensor, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None)
Tensor apply_(object callable)
native nested_tensor(object data, *, dtype? dtype=None, device? device=None, bool? pin_memory=False, bool? requires_grad=False)
""".splitlines()
    + [f"Tensor {name}(*, memory_format? memory_format=None)" for name in CASTS.split()]
)


def in_our_words(text):
    """A form as PyTorch's list writes it, in the words of its messages."""
    hidden = text.endswith("|deprecated")
    text = text.removesuffix("|deprecated")
    for theirs, ours in WORDS.items():
        text = re.sub(
            rf"(?<=[(, ]){re.escape(theirs)}(\[\d+\])?(?=\??[ ])",
            lambda found, ours=ours: ours if not found[1] else ours.replace("[]", found[1]),
            text,
        )
    return ("hidden " if hidden else "") + text.replace(OPTIONS, "+options")


# What functions that PyTorch wrote in Python do with their arguments: the attributes that they look at first, and the native
# function that gets them; "~" stands for the underscore of the in-place form where inplace=True.
CALLS = """\
functional celu = torch celu~(input, alpha)
functional elu = nn elu~(input, alpha)
functional relu = torch relu~(input)
functional relu6 = nn relu6~(input)
functional selu = torch selu~(input)
functional silu = nn silu~(input)
functional mish = nn mish~(input)
functional hardsigmoid = nn hardsigmoid~(input)
functional hardswish = nn hardswish~(input)
functional hardtanh = nn hardtanh~(input, min_val, max_val)
functional leaky_relu = nn leaky_relu~(input, negative_slope)
functional threshold = torch threshold~(input, threshold, value)
functional _threshold = torch threshold~(input, threshold, value)
functional rrelu = torch rrelu~(input, lower, upper, training)
functional glu = input.dim() nn glu(input, dim)
functional sigmoid = input.sigmoid
functional tanh = input.tanh
functional softsign = input.abs
functional tanhshrink = input.tanh
functional softmax = input.softmax
functional log_softmax = input.log_softmax
functional gumbel_softmax = torch empty_like(logits)
functional normalize = input.norm
functional local_response_norm = input.dim()
functional dropout = torch dropout~(input, 1, training)
functional dropout1d = input.dim() torch feature_dropout~(input, 1, training)
functional dropout2d = input.dim() torch feature_dropout~(input, 1, training)
functional dropout3d = input.dim() torch feature_dropout~(input, 1, training)
functional alpha_dropout = torch alpha_dropout~(input, 1, training)
functional feature_alpha_dropout = torch feature_alpha_dropout~(input, 1, training)
functional layer_norm = torch layer_norm(input, normalized_shape, weight, bias, eps, False)
functional group_norm = input.dim() torch group_norm(input, num_groups, weight, bias, eps, False)
functional rms_norm = torch rms_norm(input, normalized_shape, weight, eps)
functional instance_norm = input.size() torch instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)
functional batch_norm = torch batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)
functional adaptive_avg_pool2d = input.size() nn adaptive_avg_pool2d(input, output_size?)
functional adaptive_avg_pool3d = input.size() nn adaptive_avg_pool3d(input, output_size?)
functional adaptive_max_pool1d = torch adaptive_max_pool1d(input, output_size)
functional adaptive_max_pool2d = input.size() nn adaptive_max_pool2d(input, output_size?)
functional adaptive_max_pool3d = input.size() nn adaptive_max_pool3d(input, output_size?)
functional adaptive_max_pool1d_with_indices = torch adaptive_max_pool1d(input, output_size)
functional adaptive_max_pool2d_with_indices = input.size() nn adaptive_max_pool2d(input, output_size?)
functional adaptive_max_pool3d_with_indices = input.size() nn adaptive_max_pool3d(input, output_size?)
functional max_pool1d = torch max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)
functional max_pool2d = torch max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)
functional max_pool3d = torch max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)
functional max_pool1d_with_indices = torch max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
functional max_pool2d_with_indices = nn max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
functional max_pool3d_with_indices = input.is_cuda nn max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
functional max_unpool1d = input.size()
functional max_unpool2d = input.size() nn max_unpool2d(input, indices, 1)
functional max_unpool3d = input.size() nn max_unpool3d(input, indices, 1, 1, 1)
functional lp_pool1d = input.pow
functional lp_pool2d = input.pow
functional lp_pool3d = input.pow
functional interpolate = input.dim()
functional grid_sample = torch grid_sampler(input, grid, 1, 1, False)
functional affine_grid = theta.is_floating_point()
functional unfold = nn im2col(input, kernel_size, dilation, padding, stride)
functional fold = nn col2im(input, output_size, kernel_size, dilation, padding, stride)
functional embedding = torch embedding(weight, input, 1, scale_grad_by_freq, sparse)
functional embedding_bag = weight.dtype input.dim()
functional mse_loss = target.size() input.size() nn mse_loss(input, target, 1)
functional l1_loss = target.size() input.size() nn l1_loss(input, target, 1)
functional smooth_l1_loss = target.size() input.size() nn smooth_l1_loss(input, target, 1, beta)
functional huber_loss = target.size() input.size() nn huber_loss(input, target, 1, delta)
functional binary_cross_entropy = target.size() input.size() nn binary_cross_entropy(input, target, weight, 1)
functional binary_cross_entropy_with_logits = target.size() input.size() torch binary_cross_entropy_with_logits(input, target, weight, pos_weight, 1)
functional cross_entropy = nn cross_entropy_loss(input, target, weight, 1, ignore_index, label_smoothing)
functional nll_loss = nn nll_loss_nd(input, target, weight, 1, ignore_index)
functional ctc_loss = torch ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, 1, zero_infinity)
functional kl_div = torch kl_div(input, target, 1, log_target=log_target)
functional hinge_embedding_loss = torch hinge_embedding_loss(input, target, margin, 1)
functional cosine_embedding_loss = torch cosine_embedding_loss(input1, input2, target, margin, 1)
functional margin_ranking_loss = input1.dim() input2.dim() target.dim() torch margin_ranking_loss(input1, input2, target, margin, 1)
functional multi_margin_loss = weight.dim() nn multi_margin_loss(input, target, p, margin, weight, 1)
functional multilabel_margin_loss = nn multilabel_margin_loss(input, target, 1)
functional soft_margin_loss = nn soft_margin_loss(input, target, 1)
functional poisson_nll_loss = torch poisson_nll_loss(input, target, log_input, full, eps, 1)
functional triplet_margin_loss = torch triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, 1)
functional pad = nn pad(input, pad, mode, value)
nested nested_tensor = native nested_tensor(tensor_list, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory)
nested nested_tensor_from_jagged = torch _nested_view_from_jagged(values, values, values)
nested to_padded_tensor = nested nested_to_padded_tensor
masked sum = input.layout
masked prod = input.layout
masked amax = input.layout
masked amin = input.layout
masked cumsum = input.layout
masked cumprod = input.layout
masked logaddexp = input.layout
masked mean = input.dtype
masked median = input.dtype
masked argmax = input.dtype
masked argmin = input.dtype
torch split = tensor.split
torch cartesian_prod = native cartesian_prod(tensors)
torch meshgrid = native meshgrid(*tensors)
torch broadcast_tensors = native broadcast_tensors(tensors)
torch chain_matmul = native chain_matmul(matrices)
torch atleast_1d = native atleast_1d(*tensors)
torch atleast_2d = native atleast_2d(*tensors)
torch atleast_3d = native atleast_3d(*tensors)
torch cdist = native cdist(x1, x2, p, None)
torch unique_consecutive = native unique_consecutive(input, return_inverse=return_inverse, return_counts=return_counts, dim=dim)
torch stft = input.dim() native stft(input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window)
torch istft = native istft(input, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex=return_complex)
""".splitlines()
# Written in Python though the list has them.
PYTHON = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "meshgrid",
    "norm",
    "split",
    "stft",
    "istft",
    "tensordot",
    "unique_consecutive",
    "unflatten",
]


def builtins():
    """Which native function each built-in one of nn.functional, and of sparse, is."""
    for name, function in sorted(vars(torch.nn.functional).items()):
        if type(function).__name__ == "builtin_function_or_method" and hasattr(rushlight.nn.functional, name):
            room = "nn" if getattr(torch._C._nn, function.__name__, None) == function else "torch"
            yield f"functional {name} = {room} {function.__name__}"
    for name in ("addmm", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags"):
        yield f"sparse {name} = sparse {getattr(torch.sparse, name).__name__}"


def is_bound(room, name):
    """Whether Rushlight has the function, or functions that PyTorch writes in Python call it."""
    if room in ("nn", "sparse", "nested"):
        return True
    if room in ("fft", "linalg", "special"):
        return hasattr(getattr(rushlight, room), name.removeprefix(room + "_"))
    return hasattr(rushlight if room == "torch" else rushlight.Tensor, name) or (room == "torch" and name in CALLED)


CALLED = ("_nested_view_from_jagged", "_weight_norm", "embedding_renorm_", "native_channel_shuffle")


def forms():
    """Every form as ``room form``."""
    packaged = Path(os.path.dirname(torchgen.__file__)) / "packaged"
    listed = parse_native_yaml(packaged / "ATen/native/native_functions.yaml", packaged / "ATen/native/tags.yaml")
    bound = [entry for entry in listed.native_functions if native.should_generate_py_binding(entry)]
    rooms = {
        "torch": native.is_py_torch_function, "nn": native.is_py_nn_function, "fft": native.is_py_fft_function,
        "linalg": native.is_py_linalg_function, "special": native.is_py_special_function, "sparse": native.is_py_sparse_function,
        "nested": native.is_py_nested_function,
        "Tensor": native.is_py_variable_method,
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
        f"{'native' if name in PYTHON else room} {name} {' | '.join(found)}"
        for (room, name), found in functions.items()
        if (room != "Tensor" or derived(name, functions) != found) and not (room == "Tensor" and name in PYTHON)
    ]
    lines += [*builtins(), *CALLS]
    PAGE.write_text(HEAD + "\n".join(lines) + "\n")
    print(PAGE, len(lines))

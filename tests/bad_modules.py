"""Modules made, called, loaded and differentiated with something wrong, and how often both libraries refuse it in the same words.

A meter beside ``bad_calls.py``: ``python tests/bad_modules.py [REGEX of sources]`` prints the table and every difference. Every
program is a text that both libraries run, ``torch`` being one or the other.
"""

import ast
import collections
import re
import sys
import warnings

import torch

import rushlight

# A module, and the shapes of what its forward takes ("i" in front: whole numbers).
MODULES = {
    "nn.Linear(3, 4)": "2,3",
    "nn.Bilinear(3, 4, 2)": "5,3 5,4",
    "nn.Conv1d(2, 4, 3, groups=2)": "2,2,6",
    "nn.Conv2d(2, 4, 3, padding='same')": "2,2,6,6",
    "nn.Conv3d(2, 4, 2, stride=2)": "1,2,4,4,4",
    "nn.ConvTranspose1d(2, 4, 3, stride=2)": "1,2,4",
    "nn.ConvTranspose2d(2, 4, 3, padding_mode='zeros')": "2,2,4,4",
    "nn.BatchNorm1d(3)": "4,3",
    "nn.BatchNorm2d(3)": "2,3,4,4",
    "nn.BatchNorm3d(3)": "2,3,2,2,2",
    "nn.InstanceNorm1d(3)": "2,3,4",
    "nn.InstanceNorm2d(3, affine=True, track_running_stats=True)": "2,3,4,4",
    "nn.GroupNorm(2, 4)": "2,4,3",
    "nn.LayerNorm((3, 4))": "2,3,4",
    "nn.RMSNorm(4)": "2,4",
    "nn.LocalResponseNorm(2)": "2,3,4",
    "nn.Embedding(5, 3, padding_idx=1)": "i2,4",
    "nn.EmbeddingBag(5, 3, mode='sum')": "i2,4",
    "nn.RNN(3, 4, num_layers=2)": "5,2,3",
    "nn.LSTM(3, 4, proj_size=2)": "5,2,3",
    "nn.GRU(3, 4, bidirectional=True)": "5,2,3",
    "nn.RNNCell(3, 4, nonlinearity='tanh')": "2,3",
    "nn.LSTMCell(3, 4)": "2,3",
    "nn.GRUCell(3, 4)": "2,3 2,4",
    "nn.MultiheadAttention(4, 2)": "3,2,4 5,2,4 5,2,4",
    "nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)": "3,2,4",
    "nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0)": "3,2,4 5,2,4",
    "nn.MaxPool1d(2)": "2,3,6",
    "nn.MaxPool2d(2, stride=2, padding=1)": "2,3,6,6",
    "nn.AvgPool2d(2)": "2,3,6,6",
    "nn.AdaptiveAvgPool2d(2)": "2,3,6,6",
    "nn.AdaptiveMaxPool1d(2)": "2,3,6",
    "nn.FractionalMaxPool2d(2, output_size=3)": "2,3,6,6",
    "nn.LPPool2d(2, 2)": "2,3,6,6",
    "nn.Upsample(scale_factor=2, mode='bilinear')": "2,3,4,4",
    "nn.PixelShuffle(2)": "2,4,3,3",
    "nn.PixelUnshuffle(2)": "2,1,4,4",
    "nn.ChannelShuffle(2)": "2,4,3,3",
    "nn.Fold(4, 2)": "2,4,9",
    "nn.Unfold(2)": "2,3,4,4",
    "nn.Flatten(1, -1)": "2,3,4",
    "nn.Unflatten(1, (2, 2))": "3,4",
    "nn.ReflectionPad2d(1)": "2,3,4,4",
    "nn.CircularPad1d(1)": "2,3,4",
    "nn.ReplicationPad3d(1)": "2,3,2,2,2",
    "nn.PReLU(3)": "2,3",
    "nn.GLU(1)": "2,4",
    "nn.Softmax(1)": "2,4",
    "nn.Softmax2d()": "2,3,4,4",
    "nn.Threshold(1, 2)": "2,3",
    "nn.Hardtanh(-1, 1)": "2,3",
    "nn.Dropout(0.5)": "2,3",
    "nn.Dropout2d(0.5)": "2,3,4,4",
    "nn.CosineSimilarity(1)": "2,3 2,3",
    "nn.PairwiseDistance(2)": "2,3 2,3",
    "nn.MSELoss(reduction='mean')": "2,3 2,3",
    "nn.CrossEntropyLoss(label_smoothing=0.1)": "4,3 i4",
    "nn.NLLLoss()": "4,3 i4",
    "nn.BCELoss()": "2,3 2,3",
    "nn.BCEWithLogitsLoss()": "2,3 2,3",
    "nn.KLDivLoss(reduction='sum')": "2,3 2,3",
    "nn.HuberLoss(delta=1.0)": "2,3 2,3",
    "nn.SmoothL1Loss(beta=1.0)": "2,3 2,3",
    "nn.TripletMarginLoss(1.0, 2)": "2,3 2,3 2,3",
    "nn.MarginRankingLoss(1)": "3 3 3",
    "nn.MultiMarginLoss(1)": "4,3 i4",
    "nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))": "2,3",
}

_DTYPES = "float64", "float16", "int64", "bool", "complex64"
_OTHERS = (None, -1, 0, 7, (1, 2, 3, 4))

BACKWARD = """
x.backward()
(x * 2).backward()
(x * 2).sum().backward(torch.ones(3))
(x * 2).backward(torch.ones(4))
(x * 2).backward(torch.ones(1, 3))
(x * 2).backward(torch.ones(3, dtype=torch.float64))
(x * 2).backward(torch.ones(3, dtype=torch.complex64))
(x * 2).backward(torch.ones(3, dtype=torch.int64))
(x * 2).backward(1.0)
(x * 2).backward([torch.ones(3)])
(x * 2).sum().backward(inputs=[])
(x * 2).sum().backward(inputs=[torch.ones(3)])
(x * 2).sum().backward(inputs=[x * 2])
(x * 2).sum().backward(inputs=3)
x.detach().sum().backward()
torch.ones(3).backward(torch.ones(3))
y = (x * x).sum(); y.backward(); y.backward()
y = x.exp().sum(); y.backward(); y.backward()
y = (x * 2).sum(); y.backward(); y.backward()
y = x.exp(); y.add_(1); y.sum().backward()
y = x * 1; z = y * y; y.mul_(2); z.sum().backward()
y = x * 1; z = y.sin(); y[0] = 2; z.sum().backward()
with torch.no_grad(): y = x * 2\ny.sum().backward()
with torch.inference_mode(): y = x * 2\ny.sum().backward()
with torch.inference_mode(): y = torch.ones(3)\n(x * y).sum().backward()
with torch.inference_mode(): y = torch.ones(3)\ny.requires_grad_()
x.add_(1)
x[0] = 1
x[:2].zero_()
x.requires_grad_(False); (x * 2).sum().backward()
(x * 2).requires_grad_(False)
torch.ones(3, dtype=torch.int64).requires_grad_()
torch.ones(3, dtype=torch.int64, requires_grad=True)
torch.tensor([True], requires_grad=True)
x.grad = torch.ones(4)
x.grad = torch.ones(3, dtype=torch.float64)
x.grad = 1
x.grad = [1.0]
x.grad = x
x.register_hook(3)
x.register_hook(None)
x.detach().register_hook(lambda g: g)
x.register_hook(lambda g: g[:1]); (x * 2).sum().backward()
x.register_hook(lambda g: g.double()); (x * 2).sum().backward()
x.register_hook(lambda g: 3); (x * 2).sum().backward()
x.register_hook(lambda: None); (x * 2).sum().backward()
x.register_post_accumulate_grad_hook(3)
(x * 2).register_post_accumulate_grad_hook(lambda p: None)
x.register_post_accumulate_grad_hook(lambda p: 3); (x * 2).sum().backward()
(x * 2).grad_fn.register_hook(lambda a, b: 3); (x * 2).sum().backward()
y = x * 2; y.grad_fn.register_hook(lambda a, b: 3); y.sum().backward()
y = x * 2; y.grad_fn.register_prehook(lambda a: 3); y.sum().backward()
y = x * 2; y.grad_fn.register_hook(lambda a: None); y.sum().backward()
x.detach().retain_grad()
torch.autograd.grad(x * 2, x)
torch.autograd.grad((x * 2).sum(), x, torch.ones(2))
torch.autograd.grad((x * 2).sum(), torch.ones(3))
torch.autograd.grad((x * 2).sum(), torch.ones(3, requires_grad=True))
torch.autograd.grad((x * 2).sum(), torch.ones(3, requires_grad=True), materialize_grads=True)
torch.autograd.grad((x * 2).sum(), [])
torch.autograd.grad([], x)
torch.autograd.grad((x * 2).sum(), x, is_grads_batched=True)
torch.autograd.grad([x.sum(), x.sum()], x, [None])
torch.autograd.grad([x.sum(), x.sum()], x, [None, 3])
torch.autograd.grad(3, x)
torch.autograd.grad((x * 2).sum(), 3)
torch.autograd.backward([x.sum()], [torch.ones(()), torch.ones(())])
torch.autograd.backward(x)
torch.autograd.backward([])
torch.autograd.backward(3)
x.numpy()
(x * 2).numpy()
x.data = 3
x.data = torch.ones(3, dtype=torch.int64)
(x * 2).data = torch.ones(3, dtype=torch.int64)
copy.deepcopy(x * 2)
(x * 2).detach_(); (x * 2)[:1].detach_()
(x * 2).unbind()[0].mul_(2)
x.view(3).mul_(2)
torch.ones(3, out=x)
torch.add(x, 1, out=torch.ones(3))
torch.add(torch.ones(3), 1, out=x)
torch.autograd.Function.apply(x)
F0.apply(x)
F1.apply(x).sum().backward()
F2.apply(x).sum().backward()
F3.apply(x).sum().backward()
F4.apply(x).sum().backward()
F5.apply(x).sum().backward()
F6.apply(x)
F1()(x)
"""

_FUNCTIONS = """
class F0(torch.autograd.Function):
    pass
class F1(torch.autograd.Function):
    def forward(ctx, x): return x * 2
class F2(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
class F3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g): return g, g
class F4(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g): return 3
class F5(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g): return g[:1]
class F6(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return 'text'
"""

LOADING = """
m.load_state_dict({})
m.load_state_dict({}, strict=False)
m.load_state_dict(3)
m.load_state_dict([])
m.load_state_dict(None)
s['more'] = torch.ones(1); m.load_state_dict(s)
s[k] = torch.ones(7); m.load_state_dict(s)
s[k] = torch.ones(7); m.load_state_dict(s, strict=False)
s[k] = torch.ones(()); m.load_state_dict(s)
s[k] = torch.ones(7); s['more'] = 1; del s[l]; m.load_state_dict(s)
s[k] = 3; m.load_state_dict(s)
s[k] = 'text'; m.load_state_dict(s)
s[k] = None; m.load_state_dict(s)
s[k] = s[k].to(torch.complex64); m.load_state_dict(s)
del s[k]; m.load_state_dict(s)
m.load_state_dict(s, assign=3)
m.load_state_dict(s, nonsense=3)
m.load_state_dict()
m.register_parameter('p', 3)
m.register_parameter('p', torch.ones(3))
m.register_parameter('', None)
m.register_parameter('a.b', None)
m.register_parameter(3, None)
m.register_parameter('forward', None)
m.register_parameter('p', nn.Parameter(torch.ones(3)) * 2)
m.register_buffer('p', 3)
m.register_buffer('', None)
m.register_buffer('a.b', None)
m.register_buffer(3, None)
m.register_buffer('forward', None)
m.add_module('p', 3)
m.add_module('', None)
m.add_module('a.b', None)
m.add_module(3, None)
m.add_module('forward', None)
m.get_parameter('nothing')
m.get_parameter('forward')
m.get_buffer('nothing')
m.get_buffer('forward')
m.get_submodule('nothing')
m.get_submodule('forward')
m.set_submodule('', nn.ReLU())
m.set_submodule('a.b', nn.ReLU())
m.nothing
m.nothing()
del m.nothing
setattr(m, k.split('.')[0], 3)
setattr(m, k.split('.')[0], torch.ones(3))
m.to('nonsense')
m.to(3)
m.to(torch.int64)
m.to(None, None, None, None)
m.train(3)
m.train('no')
m.requires_grad_('text')
m.apply(3)
m.type(3)
m.zero_grad(1, 2)
m.register_forward_hook(3); m(x)
m.register_forward_pre_hook(lambda: None); m(x)
m.register_forward_hook(lambda m: None); m(x)
m.register_full_backward_hook(lambda *a: 3); m(x.requires_grad_()).sum().backward()
m.register_full_backward_hook(lambda m, i, o: (i, i)); m(x.requires_grad_()).sum().backward()
m.register_full_backward_pre_hook(lambda m, o: 3); m(x.requires_grad_()).sum().backward()
m()
m(x, x)
m(nothing=x)
m(3)
m(None)
m('text')
m([1.0])
nn.Module()(x)
nn.Module(3)
nn.Module(a=3)
nn.Sequential(3)
nn.Sequential(nn.ReLU(), None)(x)
nn.Sequential({'a': nn.ReLU()})
nn.Sequential(nn.ReLU())[1]
nn.Sequential(nn.ReLU())['a']
nn.Sequential(nn.ReLU())[-2]
nn.Sequential(nn.ReLU()).append(3)
nn.Sequential(nn.ReLU()).insert(5, nn.ReLU())
nn.Sequential(nn.ReLU()).insert(0, 3)
nn.Sequential(nn.ReLU()).extend(3)
nn.Sequential(nn.ReLU()).pop(3)
nn.ModuleList(3)
nn.ModuleList([3])
nn.ModuleList([nn.ReLU()])(x)
nn.ModuleList([nn.ReLU()])[1]
nn.ModuleList([nn.ReLU()]).append(3)
nn.ModuleList([nn.ReLU()]).extend(3)
nn.ModuleDict(3)
nn.ModuleDict({'a': 3})
nn.ModuleDict({3: nn.ReLU()})
nn.ModuleDict({'a': nn.ReLU()})['b']
nn.ModuleDict({'a': nn.ReLU()})(x)
nn.ModuleDict({'a': nn.ReLU()}).update(3)
nn.ModuleDict({'a': nn.ReLU()}).update([('a',)])
nn.ParameterList([3])
nn.ParameterList(3)
nn.ParameterList([nn.Parameter(x)])(x)
nn.ParameterList([nn.Parameter(x)])[1]
nn.ParameterDict({'a': 3})
nn.ParameterDict(3)
nn.ParameterDict({'a': nn.Parameter(x)})['b']
nn.Parameter(3)
nn.Parameter(torch.ones(3, dtype=torch.int64))
nn.Parameter('text')
nn.utils.clip_grad_norm_(m.parameters(), 'text')
nn.utils.clip_grad_norm_(3, 1.0)
nn.utils.clip_grad_value_(m.parameters(), 'text')
nn.utils.parameters_to_vector([])
nn.utils.vector_to_parameters(3, m.parameters())
nn.utils.rnn.pad_sequence([])
nn.utils.rnn.pad_sequence(3)
nn.utils.rnn.pad_sequence([torch.ones(2, 3), torch.ones(2, 4)])
nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1), [1, 3])
nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1), [3, 0])
nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1), [3])
nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1), [4, 3])
nn.utils.rnn.pack_sequence([torch.ones(1), torch.ones(2)])
nn.utils.rnn.pad_packed_sequence(3)
nn.init.xavier_uniform_(torch.ones(3))
nn.init.kaiming_normal_(torch.ones(3))
nn.init.kaiming_normal_(torch.ones(3, 3), mode='nonsense')
nn.init.kaiming_normal_(torch.ones(3, 3), nonlinearity='nonsense')
nn.init.orthogonal_(torch.ones(3))
nn.init.eye_(torch.ones(3))
nn.init.dirac_(torch.ones(3))
nn.init.sparse_(torch.ones(3), 0.1)
nn.init.calculate_gain('nonsense')
nn.init.uniform_(torch.ones(3), 2, 1)
nn.init.normal_(torch.ones(3), 0, -1)
nn.init.trunc_normal_(torch.ones(3), 0, -1)
"""

STATEFUL = "nn.Linear(3, 3)", "nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))"


def programs():
    """Every program with something wrong in it."""
    for source, shapes in MODULES.items():
        for changed in _constructions(source):
            yield f"m = {changed}\nm({', '.join(map(_tensor, shapes.split()))})"
        for arguments in _arguments(shapes.split()):
            yield f"m = {source}\nm({', '.join(arguments)})"
    for line in BACKWARD.strip().splitlines():
        yield "x = torch.ones(3, requires_grad=True)\n" + line.replace("\\n", "\n").replace("; ", "\n")
    for source in STATEFUL:
        for line in LOADING.strip().splitlines():
            made = f"m = {source}\nx = torch.ones(2, 3)\ns = m.state_dict()\nk, l = list(s)[:2]\n"
            yield made + line.replace("; ", "\n")


def _tensor(shape):
    return f"torch.zeros({shape.removeprefix('i')}{', dtype=torch.int64' if shape[0] == 'i' else ''})"


def _constructions(source):
    """The construction with one number or word changed, and with one argument too many."""
    tree = ast.parse(source, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and not isinstance(node.value, bool):
            kept = node.value
            for other in ("nonsense", None) if isinstance(kept, str) else _OTHERS:
                node.value = other
                yield ast.unparse(tree)
            node.value = kept
    yield source[:-1] + ("" if source.endswith("()") else ", ") + "nonsense=1)"
    yield source[:-1] + ("" if source.endswith("()") else ", ") + "dtype=3)"


def _arguments(shapes):
    """The arguments of forward with one of them changed."""
    good = [_tensor(shape) for shape in shapes]
    for place, shape in enumerate(shapes):
        sizes = [int(n) for n in shape.removeprefix("i").split(",")]
        others = [sizes[1:], [2, *sizes], [2, 2, *sizes], []]
        for dim in range(len(sizes)):
            others += [[*sizes[:dim], n, *sizes[dim + 1 :]] for n in (0, 1, sizes[dim] + 1)]
        for other in others:
            yield [*good[:place], good[place].replace(shape.removeprefix("i"), str(other), 1), *good[place + 1 :]]
        for dtype in _DTYPES:
            yield [*good[:place], f"{good[place]}.to(torch.{dtype})", *good[place + 1 :]]
        for value in ("None", "3", "[1.0]"):
            yield [*good[:place], value, *good[place + 1 :]]
    yield good[:-1]
    yield [*good, *good, *good, *good]


def outcome(program, lib):
    """(type, first line) of what a program raises in a library."""
    names = {"torch": lib, "nn": lib.nn, "copy": __import__("copy")}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lib.manual_seed(0)
            if " F" in program or "F0" in program or "F1" in program:
                exec(_FUNCTIONS, names)
            exec(program, names)
    except Exception as error:
        line = (str(error).splitlines() or [""])[0]
        return type(error).__name__, line.replace("rushlight", "torch")
    return "fine", ""


def compare(names="."):
    """``(counts, differences)`` of all programs whose text matches."""
    counts, differences = collections.Counter(), []
    for program in programs():
        if re.search(names, program):
            expected, found = outcome(program, torch), outcome(program, rushlight)
            counts["same" if expected == found else "different"] += 1
            if expected != found:
                differences.append((program, expected, found))
    return counts, differences


if __name__ == "__main__":
    counted, different = compare(*sys.argv[1:])
    for text, theirs, ours in different:
        print(text.replace("\n", "; "), "\n  PyTorch:  ", theirs, "\n  Rushlight:", ours)
    print(dict(counted))

"""nn.utils against PyTorch: clipping, vectors, sequences, normalisations and parametrizations of weights."""

import copy
import math
import pickle
import warnings

import pytest
from scenarios import assert_same_story

torch = pytest.importorskip("torch")

SEQUENCES = """
rnn.pack_padded_sequence(A(4, 3, 2), [4, 2, 1])
rnn.pack_padded_sequence(A(3, 4), torch.tensor([4, 2, 1]), batch_first=True)
rnn.pack_padded_sequence(A(4, 3, 2), [1, 4, 2])
rnn.pack_padded_sequence(A(4, 3, 2), [1, 4, 2], enforce_sorted=False)
rnn.pack_padded_sequence(A(4, 3, 2), [4, 2, 0])
rnn.pack_padded_sequence(A(4, 3, 2), [4, 2, -1])
rnn.pack_padded_sequence(A(4, 3, 2), [4, 2])
rnn.pack_padded_sequence(A(4, 3, 2), [3, 2, 1])
rnn.pack_padded_sequence(A(4, 3, 2), torch.ones(3, 1).long())
rnn.pack_padded_sequence(A(4, 3, 2), torch.tensor([4.0, 2, 1]))
rnn.pack_padded_sequence(A(4, 3, 2), torch.tensor([4, 2, 1], dtype=torch.int32))
rnn.pack_padded_sequence(torch.zeros(0, 2, 3), [0, 0])
rnn.pad_packed_sequence(P)
rnn.pad_packed_sequence(P, batch_first=True, padding_value=-1.0, total_length=5)
rnn.pad_packed_sequence(P, total_length=3)
rnn.pad_packed_sequence(rnn.pack_padded_sequence(A(4, 3, 2), [1, 4, 2], enforce_sorted=False))
rnn.pad_packed_sequence(rnn.pack_sequence([A(1), A(3)], enforce_sorted=False), batch_first=True)
rnn.pack_sequence([A(3), A(2), A(1)])
rnn.pack_sequence([A(1), A(3)])
rnn.pack_sequence([A(1), A(3)], enforce_sorted=False)
rnn.pad_sequence([A(1, 2), A(3, 2)])
rnn.pad_sequence([A(1), A(3)], batch_first=True, padding_value=7)
rnn.pad_sequence([A(1, 2), A(3, 2)], True, 0, 'left')
rnn.pad_sequence([A(1), A(3)], padding_side='x')
rnn.pad_sequence(iter([A(1), A(3)]))
rnn.pad_sequence([A(1, 2), A(1, 3)])
rnn.pad_sequence(3)
rnn.pad_sequence([])
rnn.pad_sequence(A(2, 3))
rnn.unpad_sequence(A(4, 3, 2), torch.tensor([4, 2, 1]))
rnn.unpad_sequence(A(2, 3), torch.tensor([1, 3]), batch_first=True)
rnn.unpack_sequence(P)
rnn.unpack_sequence(rnn.pack_sequence([A(1), A(3)], enforce_sorted=False))
rnn.invert_permutation(torch.tensor([2, 0, 1]))
rnn.invert_permutation(None)
P.to(torch.float64)
P.to('cpu') is P
P.float() is P
[getattr(P, name)().data.dtype for name in ('double', 'half', 'int', 'long', 'short', 'char', 'byte')]
P.cuda()
(P.is_cuda, P.is_pinned())
rnn.PackedSequence(A(3), torch.tensor([2, 1]))
rnn.PackedSequence(A(3), torch.tensor([2, 1]), torch.tensor([1, 0]))
rnn.PackedSequence((A(3), torch.tensor([2, 1])))
rnn.PackedSequence(A(3))
repr(P)
repr(pickle.loads(pickle.dumps(P)))
repr(copy.deepcopy(P))
"""


def sequences(torch, note):
    rnn = torch.nn.utils.rnn

    def counting(*shape):
        return torch.arange(1.0, 1 + math.prod(shape)).view(*shape)

    scope = {"torch": torch, "rnn": rnn, "A": counting, "pickle": pickle, "copy": copy}
    scope["P"] = rnn.pack_padded_sequence(counting(4, 3, 2), [4, 2, 1])
    for source in SEQUENCES.strip().split("\n"):
        note(source, lambda source=source: eval(source, scope))

    def gradient():
        x = counting(4, 3, 2).requires_grad_()
        padded, _ = rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [4, 1, 3], enforce_sorted=False))
        (padded * padded).sum().backward()
        return x.grad

    note("gradient", gradient)


def some_parameters(torch):
    parameters = [torch.nn.Parameter(torch.ones(*shape)) for shape in ((3,), (2, 2), (1,))]
    parameters[0].grad = torch.tensor([1.0, 2.0, 3.0])
    parameters[1].grad = torch.tensor([[-3.0, -6.0], [-9.0, -12.0]])
    return parameters


def clipping(torch, note):
    utils = torch.nn.utils

    def gradients(parameters):
        return [parameter.grad for parameter in parameters]

    for norm in (2, 1, math.inf, 0, 3.0, "inf", -1, -math.inf):
        p = some_parameters(torch)
        note(f"norm {norm}", lambda p=p, norm=norm: (utils.clip_grad_norm_(p, 1.5, norm), gradients(p)))
    p = some_parameters(torch)
    note("one tensor", lambda: (utils.clip_grad_norm_(p[0], 100.0), p[0].grad))
    note("no gradients", lambda: (utils.clip_grad_norm_([p[2]], 1.0), utils.clip_grad_norm_([], 1.0)))
    note("generator", lambda: utils.clip_grad_norm_((item for item in p), 1.0))
    note("empty generator", lambda: utils.clip_grad_norm_((item for item in []), 1.0))
    note("old name", lambda: utils.clip_grad_norm(some_parameters(torch), 1.0))
    note("foreach", lambda: utils.clip_grad_norm_(some_parameters(torch), 1.0, foreach=False))
    bad = some_parameters(torch)
    bad[0].grad[0] = math.nan
    note("nan", lambda: (utils.clip_grad_norm_(bad, 1.0), bad[0].grad))
    bad = some_parameters(torch)
    bad[0].grad[0] = math.inf
    note("infinite", lambda: utils.clip_grad_norm_(bad, 1.0, error_if_nonfinite=True))
    p = some_parameters(torch)
    note("value", lambda: (utils.clip_grad_value_(p, 2), gradients(p)))
    note("value of one", lambda: (utils.clip_grad_value_(p[1], 1.5), p[1].grad))
    note("total", lambda: [utils.get_total_norm(g) for g in ([torch.ones(3), torch.ones(2)], [], torch.ones(3))])
    note("total dtypes", lambda: utils.get_total_norm([torch.ones(2).double(), torch.ones(2)]))
    p = some_parameters(torch)
    note("with norm", lambda: (utils.clip_grads_with_norm_(p, 1.0, torch.tensor(4.0)), gradients(p)))


def vectors(torch, note):
    utils = torch.nn.utils
    p = some_parameters(torch)
    numbers = torch.arange(8.0)
    note("to vector", lambda: utils.parameters_to_vector(p))
    note("from vector", lambda: (utils.vector_to_parameters(numbers, p), p))
    numbers[0] = 100
    note("shares", lambda: p[0])
    note("from a list", lambda: utils.vector_to_parameters([1], p))
    note("too short", lambda: utils.vector_to_parameters(torch.ones(3), p))


def skipped(torch, note):
    utils, nn = torch.nn.utils, torch.nn
    note("linear", lambda: utils.skip_init(nn.Linear, 2, 3, dtype=torch.float64).weight.dtype)
    note("relu", lambda: utils.skip_init(nn.ReLU))
    note("dict", lambda: utils.skip_init(dict))
    torch.manual_seed(0)
    utils.skip_init(nn.Linear, 2, 3)
    note("draws nothing", lambda: torch.rand(1))


def members(module):
    """Names and shapes of parameters and buffers, and the public attributes."""
    tensors = [*module.named_parameters(), *module.named_buffers()]
    return [(name, tuple(t.shape)) for name, t in tensors], sorted(k for k in module.__dict__ if not k.startswith("_"))


def linear(torch, *sizes):
    torch.manual_seed(0)
    return torch.nn.Linear(*(sizes or (3, 2)))


def values(tensor):
    return [round(number, 4) for number in tensor.detach().flatten().tolist()]


def weight_norm(torch, note):
    utils = torch.nn.utils
    x = torch.ones(1, 3)
    layer = linear(torch)
    note("made", lambda: (utils.weight_norm(layer), members(layer)))
    note("twice", lambda: utils.weight_norm(layer))
    layer.weight_g.data *= 2
    note("called", lambda: (values(layer(x)), values(layer.weight)))
    layer(x).sum().backward()
    note("gradients", lambda: (values(layer.weight_g.grad), values(layer.weight_v.grad)))
    note("copied", lambda: copy.deepcopy(layer))
    note("removed", lambda: (utils.remove_weight_norm(layer), members(layer), values(layer(x))))
    note("removed twice", lambda: utils.remove_weight_norm(layer))
    for dim in (None, 0, 1, -1):
        note(f"dim {dim}", lambda dim=dim: members(utils.weight_norm(linear(torch), dim=dim)))
    note("no such", lambda: utils.weight_norm(linear(torch), "foo"))
    note("lazy", lambda: utils.weight_norm(torch.nn.LazyLinear(3)))


def spectral_norm(torch, note):
    utils = torch.nn.utils
    x = torch.ones(1, 3)
    layer = linear(torch)
    note("made", lambda: (utils.spectral_norm(layer), members(layer)))
    note("twice", lambda: utils.spectral_norm(layer))
    note("called", lambda: (values(layer(x)), values(layer.weight_u), values(layer.weight_v)))
    note("eval", lambda: (values(layer.eval()(x)), values(layer.weight_u)))
    layer.train()(x).sum().backward()
    note("gradient", lambda: values(layer.weight_orig.grad))
    note("metadata", lambda: layer.state_dict()._metadata)
    note("loaded", lambda: utils.spectral_norm(linear(torch)).load_state_dict(layer.state_dict()))
    note("removed", lambda: (utils.remove_spectral_norm(layer), members(layer), values(layer.weight)))
    note("removed twice", lambda: utils.remove_spectral_norm(layer))
    note("iterations", lambda: utils.spectral_norm(linear(torch), n_power_iterations=0))
    note("no parameter", lambda: utils.spectral_norm(torch.nn.Linear(1, 1, bias=False), "bias"))
    note("dim", lambda: members(utils.spectral_norm(torch.nn.Conv1d(2, 3, 4), n_power_iterations=3, dim=1)))
    note("transposed", lambda: members(utils.spectral_norm(torch.nn.ConvTranspose1d(2, 3, 4))))


def parametrization_classes(torch):
    module = torch.nn.Module

    class Symmetric(module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

    class Exponential(module):
        def forward(self, x):
            return x.exp()

        def right_inverse(self, value):
            return value.log()

    class Product(module):
        def forward(self, a, b):
            return a * b

        def right_inverse(self, value):
            return value, torch.ones_like(value)

    class Number(module):
        def forward(self, x):
            return 3

    class Shorter(module):
        def forward(self, x):
            return x[:1]

    class Wider(module):
        def forward(self, x):
            return x.double()

    return Symmetric, Exponential, Product, Number, Shorter, Wider


def parametrize(torch, note):
    tools = torch.nn.utils.parametrize
    Symmetric, Exponential, Product, Number, Shorter, Wider = parametrization_classes(torch)
    layer = linear(torch, 3, 3)
    note("registered", lambda: tools.register_parametrization(layer, "weight", Symmetric()))
    note(
        "members",
        lambda: (members(layer), list(layer.state_dict()), values(layer.weight), values(layer(torch.ones(3)))),
    )
    note("type", lambda: (type(layer).__name__, tools.type_before_parametrizations(layer).__name__))
    note("asked", lambda: [tools.is_parametrized(layer, name) for name in (None, "weight", "bias")])
    note("assigned", lambda: setattr(layer, "weight", torch.zeros(3, 3)))
    note("pickled", lambda: pickle.dumps(layer))
    note("copied", lambda: (type(copy.deepcopy(layer)).__name__, values(copy.deepcopy(layer).weight)))
    note("chained", lambda: (tools.register_parametrization(layer, "weight", Exponential()), values(layer.weight)))
    note("removed", lambda: (tools.remove_parametrizations(layer, "weight"), members(layer), values(layer.weight)))
    note("removed twice", lambda: tools.remove_parametrizations(layer, "weight"))
    other = linear(torch, 3, 3)
    other.weight.data.abs_()
    original = other.weight
    tools.register_parametrization(other, "weight", Exponential())
    note(
        "same parameter",
        lambda: (other.parametrizations.weight.original is original, values(original), values(other.weight)),
    )
    note("set", lambda: (setattr(other, "weight", torch.full((3, 3), 2.0)), values(original), values(other.weight)))
    note(
        "left", lambda: (tools.remove_parametrizations(other, "weight", leave_parametrized=False), values(other.weight))
    )
    two = tools.register_parametrization(linear(torch, 3, 3), "weight", Product())
    note("two", lambda: (members(two), values(two.weight)))
    note("two set", lambda: (setattr(two, "weight", torch.ones(3, 3)), values(two.weight)))
    note("two left", lambda: tools.remove_parametrizations(two, "weight", False))
    note("two removed", lambda: (tools.remove_parametrizations(two, "weight"), members(two)))
    for kind in (Number, Shorter, Wider):
        note(kind.__name__, lambda kind=kind: tools.register_parametrization(linear(torch, 3, 3), "weight", kind()))
        chained = tools.register_parametrization(linear(torch, 3, 3), "weight", Exponential())
        note(
            f"{kind.__name__} chained", lambda kind=kind, m=chained: tools.register_parametrization(m, "weight", kind())
        )
    note(
        "unsafe", lambda: members(tools.register_parametrization(linear(torch, 3, 3), "weight", Shorter(), unsafe=True))
    )
    note("no such", lambda: tools.register_parametrization(linear(torch), "foo", Symmetric()))
    note("empty", lambda: tools.ParametrizationList([], torch.zeros(1)))


def parametrize_several(torch, note):
    tools = torch.nn.utils.parametrize
    Symmetric, Exponential, *_ = parametrization_classes(torch)
    layer = linear(torch, 3, 3)
    layer.bias.data.abs_()
    tools.register_parametrization(layer, "weight", Symmetric())
    tools.register_parametrization(layer, "bias", Exponential())

    def cached():
        with tools.cached():
            return layer.weight is layer.weight

    note("cached", lambda: (cached(), layer.weight is layer.weight))
    note("one left", lambda: (tools.remove_parametrizations(layer, "weight"), tools.is_parametrized(layer)))
    note("none left", lambda: (tools.remove_parametrizations(layer, "bias"), type(layer).__name__))
    layer.register_buffer("extra", torch.ones(3))
    tools.register_parametrization(layer, "extra", Exponential())
    note("buffer", lambda: (members(layer), values(layer.extra)))


def parametrizations(torch, note):
    ready, tools, utils = torch.nn.utils.parametrizations, torch.nn.utils.parametrize, torch.nn.utils
    x = torch.ones(1, 3)
    layer = ready.weight_norm(linear(torch))
    note("weight norm", lambda: (layer, members(layer), values(layer.weight), values(layer(x))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = utils.weight_norm(linear(torch)).state_dict()
    note("weight norm loads the old form", lambda: layer.load_state_dict(old))
    note("weight norm removed", lambda: (tools.remove_parametrizations(layer, "weight"), values(layer.weight)))
    layer = ready.spectral_norm(linear(torch))
    note("spectral norm", lambda: (layer, members(layer), values(layer.weight), values(layer.weight)))
    note("spectral vectors", lambda: (values(layer.parametrizations.weight[0]._u), values(layer.eval().weight)))
    note("spectral norm of a bias", lambda: values(ready.spectral_norm(linear(torch), "bias").bias))
    note("spectral norm loads", lambda: ready.spectral_norm(linear(torch)).load_state_dict(layer.state_dict()))
    note("spectral norm of nothing", lambda: ready.spectral_norm(linear(torch), "foo"))
    note("no iterations", lambda: ready.spectral_norm(linear(torch), n_power_iterations=0))
    note("bad dim", lambda: ready.spectral_norm(linear(torch), dim=7))
    note("dim", lambda: values(ready.spectral_norm(linear(torch), dim=1).weight))


@pytest.mark.parametrize(
    "scenario",
    [
        sequences,
        clipping,
        vectors,
        skipped,
        weight_norm,
        spectral_norm,
        parametrize,
        parametrize_several,
        parametrizations,
    ],
)
def test_same_as_torch(scenario):
    assert_same_story(scenario, torch)

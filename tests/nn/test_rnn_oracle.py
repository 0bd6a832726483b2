"""Recurrent layers against PyTorch: outputs, gradients, initial weights, printed form, errors."""

import pytest
from layer_pairs import TIGHT, assert_same, check_layers, check_source, copied, draw

import rushlight as rl

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:dropout option adds", "ignore:LSTM with projections")

OPTIONS = [
    dict(zip(("num_layers", "bias", "batch_first", "bidirectional", "dropout"), values))
    for values in [
        (1, True, False, False, 0.0), (1, False, True, True, 0.0), (2, True, True, False, 0.0),
        (2, False, False, True, 0.0), (2, True, True, True, 0.5), (3, False, False, False, 0.5),
    ]
]  # fmt: skip
CASES = [
    *(("RNN", {**options, "nonlinearity": "relu" if options["bias"] else "tanh"}) for options in OPTIONS),
    *(("GRU", options) for options in OPTIONS),
    *(("LSTM", {**options, "proj_size": size}) for options in OPTIONS for size in (0, 2)),
]
LENGTHS = [3, 6, 2, 6, 1]


def pair(kind, options):
    return (getattr(library.nn, kind)(3, 4, **options).double() for library in (rl, torch))


def states(kind, options, batch=5):
    count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    hidden = draw(count, batch, options.get("proj_size") or 4)
    return [hidden, draw(count, batch, 4)] if kind == "LSTM" else [hidden]


def run_padded(library, layer, sequence, *hx):
    return layer(sequence, (hx if len(hx) == 2 else hx[0]) if hx else None)


def run_packed(library, layer, sequence, *hx):
    pack = library.nn.utils.rnn.pack_padded_sequence
    return run_padded(library, layer, pack(sequence, LENGTHS, layer.batch_first, enforce_sorted=False), *hx)


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_sequences(kind, options):
    ours, theirs = pair(kind, options)
    sequence = draw(5, 6, 3) if options["batch_first"] else draw(6, 5, 3)
    check_layers(ours, theirs, [sequence, *states(kind, options)], run_padded)
    check_layers(ours, theirs, [sequence, *states(kind, options)], run_packed)
    check_layers(ours, theirs, [sequence], run_packed, training=(True,))
    check_layers(ours, theirs, [draw(6, 3)], run_padded, training=(True,))


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_second_derivatives(kind):
    ours, theirs = pair(kind, {"bidirectional": True, "num_layers": 2})
    copied(ours, theirs)
    found = []
    for library, layer in ((rl, ours), (torch, theirs)):
        tensors = [library.from_numpy(draw(5, 2, 3)).requires_grad_(), *layer.parameters()]
        first = library.autograd.grad((layer(tensors[0])[0] ** 2).sum(), tensors, create_graph=True)
        found.append(list(library.autograd.grad(sum((g**2).sum() for g in first), tensors)))
    assert_same(*found, TIGHT)


@pytest.mark.parametrize("kind", ["RNNCell", "GRUCell", "LSTMCell"])
@pytest.mark.parametrize("bias", [True, False])
def test_cells(kind, bias):
    ours, theirs = pair(kind, {"bias": bias})
    check_layers(ours, theirs, [draw(2, 3)])
    check_layers(ours, theirs, [draw(3)])
    hx = [draw(2, 4), draw(2, 4, seed=1)] if kind == "LSTMCell" else [draw(2, 4)]
    check_layers(ours, theirs, [draw(2, 3), *hx], run_padded)


@pytest.mark.parametrize(
    "call",
    [
        "torch.lstm(R(5,2,3), (R(2,2,4),R(2,2,4)), {}, True, 1, 0., False, True, False)",
        "torch.lstm(R(9,3), torch.tensor([3,3,2,1]), (R(2,3,4),R(2,3,4)), {}, True, 1, 0., False, True)",
        "torch.lstm(input=R(2,5,3), hx=(R(2,2,4),R(2,2,4)), params={}, has_biases=True, num_layers=1, dropout=0., "
        "train=False, bidirectional=True, batch_first=True)",
    ],
)
def test_lstm_function(call):
    check_source(call.format("[R(16,3),R(16,4),R(16),R(16)]*2"), torch)


@pytest.mark.parametrize("name", ["gru", "rnn_tanh", "rnn_relu"])
def test_other_functions(name):
    rows = 12 if name == "gru" else 4
    weights = f"[R({rows},3),R({rows},4)]"
    check_source(f"torch.{name}(R(5,2,3), R(1,2,4), {weights}, False, 1, 0., False, False, False)", torch)
    check_source(f"torch.{name}(R(4,3), torch.tensor([2,1,1]), R(1,2,4), {weights}, False, 1, 0., False, False)", torch)


CALLS = """
nn.RNN(3,4)
nn.RNN(3,4,nonlinearity='relu')
nn.RNN(3,4,1,'relu',True,True)
nn.LSTM(3,4)
nn.LSTM(3,4,2,False,True,0.5,True,2)
nn.LSTM(3,4,dropout=0.5)
nn.GRU(2,3,bidirectional=True)
nn.RNNCell(2,3)
nn.RNNCell(2,3,False,'relu')
nn.LSTMCell(2,3)
nn.GRUCell(2,3,bias=False)
nn.RNNBase('LSTM',3,4)
nn.RNNBase('FOO',3,4)
nn.RNNBase('LSTM',3,4)(R(3,3))
nn.RNNCellBase(3,4,True,3)
nn.RNN(3,4,nonlinearity='foo')
nn.RNN(3,4,proj_size=2)
nn.GRU(3,4,proj_size=2)
nn.RNN(3,4,num_layers=0)
nn.LSTM(3,0)
nn.LSTM(-1,3)
nn.LSTM(3.,3)
nn.LSTM(3,4,dropout=2)
nn.LSTM(3,4,dropout=True)
nn.LSTM(3,4,dropout='a')
nn.LSTM(3,4,proj_size=4)
nn.LSTM(3,4,proj_size=-1)
nn.LSTM(3,4,batch_first=1)
nn.LSTM(3,4,foo=1)
nn.LSTM(3)
nn.LSTM(3,4)(R(3))
nn.LSTM(3,4)(R(2,3,3,3))
nn.LSTM(3,4)(R(2,3,5))
nn.GRU(3,4)(R(2,5))
nn.RNN(3,4)(R(3))
nn.RNN(3,4)(R(2,3).double())
nn.LSTM(3,4)(R(5,2,3),(R(1,2,4),R(1,2,5)))
nn.LSTM(3,4)(R(5,2,3),(R(1,2,5),R(1,2,4)))
nn.LSTM(3,4)(R(5,2,3),(R(1,2,4),R(2,4)))
nn.LSTM(3,4)(R(5,3),(R(1,2,4),R(1,2,4)))
nn.LSTM(3,4)(R(5,3),(R(1,5),R(1,4)))
nn.LSTM(3,4)(R(5,2,3),(R(1,2,4),))
nn.LSTM(3,4)(R(5,2,3),[torch.zeros(1,2,4),torch.zeros(1,2,4)])
nn.GRU(3,4)(R(5,2,3),R(1,2,5))
nn.GRU(3,4)(R(5,2,3),R(2,4))
nn.GRU(3,4)(R(5,3),R(1,2,4))
nn.RNN(3,4)(R(5,3),R(2,4))
nn.LSTM(3,4)(R(0,2,3))
nn.GRU(3,4)(R(0,2,3))
nn.LSTM(3,4)(R(3,0,3))
nn.GRU(3,4)(R(3,0,3))
nn.LSTM(3,4)(packed([R(4,5),R(2,5)]))
nn.GRU(3,4)(packed([R(4,5),R(2,5)]))
nn.LSTM(3,4)(packed([R(4,3),R(2,3)]),(R(1,3,4),R(1,3,4)))
nn.GRU(3,4)(packed([R(4,3),R(2,3)]),R(1,3,4))
nn.RNNCell(3,4,nonlinearity='foo')(R(3))
nn.RNNCell(3,4)(R(1,2,3))
nn.RNNCell(3,4)(R(5))
nn.RNNCell(3,4)(R(2,3),R(2,5))
nn.RNNCell(3,4)(R(2,3),R(3,4))
nn.RNNCell(3,4)(R(2,3),R(1,2,4))
nn.LSTMCell(3,4)(R(2,3),R(2,4))
nn.LSTMCell(3,4)(R(2,3),(R(2,4),R(1,2,4)))
nn.LSTMCell(3,4)(R(2,3),(R(2,4),R(3,4)))
nn.LSTMCell(3,4)(R(2,3),(R(2,4),R(2,5)))
torch.lstm(R(5,2,3),(R(1,2,4),),[R(16,3),R(16,4)],False,1,0.,False,False,False)
torch.lstm_cell(R(2,3),(R(2,4),),R(16,3),R(16,4))
torch.lstm_cell(R(2,3),(R(2,4),R(2,4)),R(15,3),R(16,4))
torch.gru_cell(R(2,3),R(2,4),R(12,3),R(12,4),R(12),R(12))
torch.rnn_relu_cell(R(2,3),R(2,4),R(4,3),R(4,4))
torch.gru(R(5,2,3),R(1,2,4),[R(12,3),R(12,4)],False,1,0.,False,True,False)
torch.gru(R(5,2,3),R(1,2,4),[R(12,3),R(12,4)],True,1,0.,False,False,False)
torch.rnn_tanh(R(5,2,3),R(2,2,4),[R(4,3),R(4,4)],False,1,0.,False,False,False)
"""


@pytest.mark.parametrize("source", CALLS.strip().splitlines())
def test_construction_and_errors(source):
    check_source(source, torch)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(("name", "batch_first"), [("LSTM", False), ("LSTM", True), ("GRU", False), ("RNN", False)])
def test_last_nodes(name, batch_first, dtype):
    """What the output says of the last operations: which they were, and whether it is a view."""
    found = []
    for library in (rl, torch):
        for options in ({}, {"num_layers": 2}, {"bidirectional": True}):
            layer = getattr(library.nn, name)(3, 4, batch_first=batch_first, dtype=getattr(library, dtype), **options)
            output = layer(library.ones(2, 5, 3, dtype=getattr(library, dtype)))[0]
            before = [node.name() for node, _ in output.grad_fn.next_functions if batch_first]
            found.append([output.grad_fn.name(), before, output._is_view(), output._version, output.stride()])
    assert found[:3] == found[3:]

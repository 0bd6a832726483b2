"""Attention and transformer layers against PyTorch: outputs, gradients, initial weights, masks, warnings, errors."""

import math
import random
import warnings

import numpy as np
import pytest
from layer_pairs import TIGHT, assert_same, check_layers, check_source, copied, draw

import rushlight as rl

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.filterwarnings("ignore:Support for mismatched"),
    pytest.mark.filterwarnings("ignore:enable_nested_tensor is True"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors"),
]

HEADS, BATCH, LENGTH, SOURCE = 2, 3, 4, 5


def masked(pattern, kind, generator):
    """A mask as a NumPy array: the bool pattern, or numbers to add with minus infinity where it is True."""
    return pattern if kind == "bool" else np.where(pattern, -math.inf, generator.standard_normal(pattern.shape))


def attention_case(seed):
    """Options of a layer, options of a call with NumPy masks, and the inputs, chosen at random."""
    choose, generator = random.Random(seed), np.random.default_rng(seed)
    flag = lambda probability=0.5: choose.random() < probability
    options = {
        "dropout": choose.choice([0.0, 0.3]), "bias": flag(0.7), "batch_first": flag(),
        "add_bias_kv": flag(0.3), "add_zero_attn": flag(0.3),
    }  # fmt: skip
    own_sizes = flag(0.4)
    if own_sizes:
        options.update(kdim=choose.choice([None, 5]), vdim=6)
    batched, distinct = flag(0.8), 3 if own_sizes else choose.choice([1, 2, 3])
    source = LENGTH if distinct == 1 else SOURCE
    sizes = [(LENGTH, 8), (source, options.get("kdim") or 8), (source, options.get("vdim") or 8)]
    inputs = []
    for length, size in sizes[:distinct]:
        lead = (BATCH, length) if options["batch_first"] else (length, BATCH)
        inputs.append(draw(*(lead if batched else (length,)), size, seed=seed))
    call = {"need_weights": flag(), "average_attn_weights": flag()}
    if flag(0.6):
        pattern = generator.random((BATCH, source) if batched else (source,)) < 0.3
        pattern[..., 0] &= flag(0.1)
        call["key_padding_mask"] = masked(pattern, choose.choice(["bool", "float"]), generator)
    if flag(0.6):
        lead = choose.choice([(), ((BATCH if batched else 1) * HEADS,)])
        pattern = generator.random((*lead, LENGTH, source)) < 0.3
        pattern[..., 0] &= flag(0.1)
        call["attn_mask"] = masked(pattern, choose.choice(["bool", "float"]), generator)
    elif distinct == 1 and not (options["add_bias_kv"] or options["add_zero_attn"]):
        call["attn_mask"] = np.triu(np.full((LENGTH, LENGTH), -math.inf), 1)
        call["is_causal"] = True
    return options, call, inputs


def in_library(library, options):
    return {k: library.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}


@pytest.mark.parametrize("seed", range(60))
def test_multihead_attention(seed):
    options, call, inputs = attention_case(seed)

    def attend(library, layer, *tensors):
        tensors = [*tensors, *[tensors[-1]] * (3 - len(tensors))]
        return layer(*tensors, **in_library(library, call))

    ours, theirs = (library.nn.MultiheadAttention(8, HEADS, **options).double() for library in (rl, torch))
    check_layers(ours, theirs, inputs, attend)


KINDS = [
    dict(zip(("batch_first", "norm_first", "bias", "activation", "dropout"), values))
    for values in [
        (False, False, True, "relu", 0.0), (True, False, True, "gelu", 0.2),
        (True, True, False, "relu", 0.0), (False, True, True, "gelu", 0.1),
    ]
]  # fmt: skip
PADDING = np.array([[False, False, False, True], [False] * 4, [False, False, True, True]])
CAUSAL = np.triu(np.full((LENGTH, LENGTH), -math.inf), 1)
ENCODER_CALLS = [
    {}, {"src_key_padding_mask": PADDING}, {"mask": CAUSAL}, {"mask": CAUSAL, "is_causal": True},
    {"mask": -math.inf == CAUSAL, "src_key_padding_mask": PADDING},
]  # fmt: skip


def sequence(options, length, seed=0):
    return draw(*((BATCH, length) if options["batch_first"] else (length, BATCH)), 8, seed=seed)


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("call", ENCODER_CALLS)
def test_encoder(options, call):
    def make(library):
        layer = library.nn.TransformerEncoderLayer(8, HEADS, 16, **options)
        return library.nn.TransformerEncoder(layer, 2, library.nn.LayerNorm(8)).double()

    ours, theirs = make(rl), make(torch)
    inputs = [sequence(options, LENGTH)]
    check_layers(ours, theirs, inputs, lambda library, layer, x: layer(x, **in_library(library, call)))
    with rl.no_grad(), torch.no_grad():
        results = [m(lib.from_numpy(inputs[0]), **in_library(lib, call)) for lib, m in ((rl, ours), (torch, theirs))]
    assert_same(*results, TIGHT)


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("call", [{}, {"tgt_mask": CAUSAL, "memory_key_padding_mask": PADDING}])
def test_decoder(options, call):
    def make(library):
        layer = library.nn.TransformerDecoderLayer(8, HEADS, 16, **options)
        return library.nn.TransformerDecoder(layer, 2, library.nn.LayerNorm(8)).double()

    inputs = [sequence(options, LENGTH), sequence(options, LENGTH, seed=1)]
    run = lambda library, layer, *tensors: layer(*tensors, **in_library(library, call))
    check_layers(make(rl), make(torch), inputs, run)


@pytest.mark.parametrize("options", KINDS)
def test_transformer(options):
    make = lambda library: library.nn.Transformer(8, HEADS, 1, 2, 16, **options).double()
    call = {"tgt_mask": CAUSAL, "src_key_padding_mask": PADDING, "memory_key_padding_mask": PADDING}
    inputs = [sequence(options, LENGTH), sequence(options, LENGTH, seed=1)]
    run = lambda library, layer, *tensors: layer(*tensors, **in_library(library, call))
    check_layers(make(rl), make(torch), inputs, run)


def test_dropout_of_a_transposed_output_is_drawn_in_memory_order():
    options = {"batch_first": True, "dropout": 0.2}
    ours, theirs = (library.nn.TransformerEncoderLayer(8, HEADS, 16, **options).double() for library in (rl, torch))
    check_layers(ours, theirs, [sequence(options, LENGTH)])


def test_initial_weights():
    for seed in (0, 1):
        rl.manual_seed(seed), torch.manual_seed(seed)
        ours, theirs = (library.nn.Transformer(8, 2, 1, 1, 16) for library in (rl, torch))
        assert_same(list(ours.parameters()), list(theirs.parameters()), {"rtol": 0, "atol": 0})


def test_checkpoint_of_pytorch_fits():
    theirs = torch.nn.Transformer(8, 2, 1, 1, 16)
    ours = copied(rl.nn.Transformer(8, 2, 1, 1, 16), theirs)
    assert repr(ours) == repr(theirs)


CALLS = """
nn.MultiheadAttention(4,2)
nn.MultiheadAttention(4,2,kdim=3,add_bias_kv=True)
nn.MultiheadAttention(4,2,add_bias_kv=True,bias=False)
nn.MultiheadAttention(5,2)
nn.MultiheadAttention(0,2)
nn.MultiheadAttention(4,-1)
nn.MultiheadAttention(4,2)(R(4),R(4),R(4))
nn.MultiheadAttention(4,2)(R(3,4),R(3,2,4),R(3,4))
nn.MultiheadAttention(4,2)(R(3,2,4),R(3,4),R(3,4))
nn.MultiheadAttention(4,2)(R(3,2,5),R(3,2,4),R(3,2,4))
nn.MultiheadAttention(4,2)(R(3,2,4),R(5,2,4),R(6,2,4))
nn.MultiheadAttention(4,2,kdim=3)(R(3,2,4),R(5,2,3),R(6,2,4))
nn.MultiheadAttention(4,2)(R(3,2,4),R(5,2,4),R(5,2,4),key_padding_mask=torch.zeros(2,4,dtype=torch.bool))
nn.MultiheadAttention(4,2)(R(3,2,4),R(5,2,4),R(5,2,4),key_padding_mask=torch.zeros(5,dtype=torch.bool))
nn.MultiheadAttention(4,2)(R(3,2,4),R(5,2,4),R(5,2,4),key_padding_mask=torch.zeros(2,5,dtype=torch.int64))
nn.MultiheadAttention(4,2)(R(3,2,4),R(5,2,4),R(5,2,4),attn_mask=torch.zeros(3,4,dtype=torch.bool))
nn.MultiheadAttention(4,2)(R(3,2,4),R(5,2,4),R(5,2,4),attn_mask=torch.zeros(2,3,5,dtype=torch.bool))
nn.MultiheadAttention(4,2)(R(3,2,4),R(5,2,4),R(5,2,4),attn_mask=torch.zeros(5,dtype=torch.bool))
nn.MultiheadAttention(4,2)(R(3,2,4),R(5,2,4),R(5,2,4),attn_mask=torch.zeros(3,5,dtype=torch.int32))
nn.MultiheadAttention(4,2)(R(3,2,4),R(3,2,4),R(3,2,4),is_causal=True)
nn.MultiheadAttention(4,2)(R(3,2,4),R(3,2,4),R(3,2,4),key_padding_mask=torch.zeros(2,3,dtype=torch.bool),attn_mask=torch.zeros(3,3))
nn.MultiheadAttention(4,2)(R(3,4),R(3,4),R(3,4),key_padding_mask=torch.zeros(1,3))
nn.MultiheadAttention(4,2)(R(3,4),R(3,4),R(3,4),attn_mask=torch.zeros(1,3,3))
nn.MultiheadAttention(4,2)(R(3,4),R(3,4),R(3,4),average_attn_weights=False)
F.scaled_dot_product_attention(R(3),R(3),R(3))
F.scaled_dot_product_attention(R(3,4),R(5,4),R(5,6))
F.scaled_dot_product_attention(R(2,2,3,4),R(1,1,5,4),R(1,2,5,6))
F.scaled_dot_product_attention(R(3,4),R(5,4),R(5,6),attn_mask=torch.zeros(3,5),is_causal=True)
F.scaled_dot_product_attention(R(3,4),R(5,4),R(5,6),attn_mask=torch.zeros(3,5,dtype=torch.int64))
F.scaled_dot_product_attention(R(3,4),R(5,4),R(5,6),attn_mask=torch.zeros(3,5,dtype=torch.float64))
F.scaled_dot_product_attention(R(3,4),R(5,4).double(),R(5,6))
F.scaled_dot_product_attention(R(3,4),R(5,4),R(5,6),attn_mask=R(3,5)>0)
F.scaled_dot_product_attention(R(3,4),R(5,4),R(5,6),dropout_p=0.5)
F.scaled_dot_product_attention(R(3,4),R(5,4),R(5,6),is_causal=True,scale=0.3)
F.scaled_dot_product_attention(R(3,0),R(3,0),R(3,2))
F.scaled_dot_product_attention(R(3,4),R(0,4),R(0,4))
F.scaled_dot_product_attention(R(2,4,3,4),R(2,2,5,4),R(2,1,5,6),enable_gqa=True)
F.scaled_dot_product_attention(R(2,4,3,4),R(2,3,5,4),R(2,3,5,6),enable_gqa=True)
nn.TransformerEncoderLayer(4,2,8)
nn.TransformerEncoderLayer(4,2,8,activation='foo')
nn.TransformerEncoderLayer(4,2,8,activation=nn.GELU(),bias=False,norm_first=True)
nn.TransformerDecoderLayer(4,2,8)
nn.TransformerDecoderLayer(4,2,8,activation='foo')
nn.TransformerEncoder(nn.TransformerEncoderLayer(4,2,8),2)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4,2,8,batch_first=True),2)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4,2,8,batch_first=True,norm_first=True),2)
nn.TransformerEncoder(nn.TransformerEncoderLayer(3,1,8,batch_first=True),2)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4,2,8,batch_first=True,bias=False),2)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4,2,8,batch_first=True,activation=torch.tanh),2)
nn.TransformerEncoder(nn.Linear(3,4),2)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4,2,8),2,None,False)(R(4))
nn.TransformerEncoderLayer(4,2,8)(R(3,2,4),is_causal=True)
nn.TransformerEncoderLayer(4,2,8)(R(3,2,4),torch.zeros(3,3,dtype=torch.int64))
nn.TransformerEncoderLayer(4,2,8)(R(3,2,4),torch.zeros(3,3),torch.zeros(2,3,dtype=torch.bool))
nn.TransformerDecoderLayer(4,2,8)(R(3,2,4),R(4,2,4),torch.zeros(3,3,dtype=torch.bool),tgt_key_padding_mask=torch.zeros(2,3))
nn.Transformer(4,2,1,1,8,batch_first=True)(R(3,2,4),R(2,2,4))
nn.Transformer(4,2,1,1,8,batch_first=True)(R(3,2,5),R(3,2,4))
nn.Transformer.generate_square_subsequent_mask(3)
nn.Transformer.generate_square_subsequent_mask(3,dtype=torch.float64)
nn.Transformer.generate_square_subsequent_mask(3,dtype=torch.bool)
"""


@pytest.mark.parametrize("source", CALLS.strip().splitlines())
def test_construction_and_errors(source):
    check_source(source, torch)


def _masks(library, shapes):
    """Masks of several kinds and shapes, by name."""
    kinds = {"bool": library.bool, "int": library.int64, "float": library.float32, "half": library.float16}
    return {"none": None} | {
        f"{kind} {shape}": library.zeros(shape, dtype=dtype) for kind, dtype in kinds.items() for shape in shapes
    }


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
def test_masks_are_checked_in_order(batched, need_weights):
    """Two masks of which each may be wrong: which refusal comes first, and which warnings before it."""
    told = []
    for library in (rl, torch):
        layer = library.nn.MultiheadAttention(4, 2)
        x = library.ones(*((3, 2, 4) if batched else (3, 4)))
        for attn_mask in _masks(library, [(3, 3), (4, 3), (4, 3, 3), (3,)]).items():
            for padding in _masks(library, [(2, 3), (3,), (2, 4)]).items():
                with warnings.catch_warnings(record=True) as seen:
                    warnings.simplefilter("always")
                    try:
                        output, _ = layer(x, x, x, padding[1], need_weights, attn_mask[1])
                        found = tuple(output.shape)
                    except (AssertionError, RuntimeError, TypeError) as error:
                        found = type(error).__name__, str(error).splitlines()[0]
                told.append((attn_mask[0], padding[0], found, [str(each.message)[:60] for each in seen]))
    half = len(told) // 2
    for ours, theirs in zip(told[:half], told[half:]):
        assert ours == theirs

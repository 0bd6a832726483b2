"""Operations of vision.ops against torchvision's: values, gradients, refusals."""

import inspect

import numpy as np
import pytest
from torchvision_oracle import torch, torchvision

import rushlight
from rushlight.vision import ops

theirs = torchvision.ops
compiled = pytest.mark.skipif(
    not torchvision.extension._has_ops(), reason="torchvision's compiled operations do not load beside this PyTorch"
)


def boxes(seed, count, dtype=np.float64, side=20.0):
    random = np.random.default_rng(seed)
    start = random.uniform(0, side, (count, 2))
    return np.concatenate((start, start + random.uniform(0.5, side / 2, (count, 2))), 1).astype(dtype)


def both(name, arrays, *rest, gradients=True, tolerance=1e-12, **options):
    """The function of both packages on the same arrays: results and gradients are compared."""
    found = []
    for lib, room in ((torch, theirs), (rushlight, ops)):
        tensors = [lib.from_numpy(array.copy()) for array in arrays]
        floating = [tensor.requires_grad_() for tensor in tensors if gradients and tensor.is_floating_point()]
        result = getattr(room, name)(*tensors, *rest, **options)
        if floating:
            weights = np.random.default_rng(9).standard_normal(tuple(result.shape))
            (result * lib.from_numpy(weights).to(result.dtype)).sum().backward()
        found.append([result, *(tensor.grad for tensor in floating)])
    for expected, got in zip(*found, strict=True):
        if expected is None:
            assert got is None
            continue
        expected, got = expected.detach().numpy(), got.detach().numpy()
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def test_every_public_name_with_its_arguments():
    missing = set(theirs.__all__) - set(ops.__all__)
    assert not missing
    for name in theirs.__all__:
        expected = list(inspect.signature(getattr(theirs, name)).parameters)
        assert list(inspect.signature(getattr(ops, name)).parameters)[: len(expected)] == expected, name


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
@pytest.mark.parametrize("name", ["box_iou", "generalized_box_iou", "distance_box_iou", "complete_box_iou"])
def test_overlaps(name, dtype):
    tolerance = 1e-10 if dtype == np.float64 else 1e-5
    both(
        name,
        [boxes(0, 5, dtype) + dtype(1), boxes(1, 7, dtype) + dtype(1)],
        tolerance=tolerance,
        gradients=dtype == np.float64,
    )
    if name == "box_iou":
        for fmt in ("xywh", "cxcywh"):
            both(name, [boxes(0, 5, dtype), boxes(1, 7, dtype)], fmt=fmt, tolerance=tolerance, gradients=False)


@pytest.mark.parametrize("start", ["xyxy", "xywh", "cxcywh", "xywhr", "cxcywhr", "xyxyxyxy", "nothing"])
@pytest.mark.parametrize("end", ["xyxy", "xywh", "cxcywh", "xywhr", "cxcywhr", "xyxyxyxy"])
def test_formats(start, end):
    width = {"xywhr": 5, "cxcywhr": 5, "xyxyxyxy": 8}.get(start, 4)
    array = np.random.default_rng(0).uniform(1, 50, (6, width))
    try:
        theirs.box_convert(torch.from_numpy(array), start, end)
    except (ValueError, NotImplementedError) as error:
        with pytest.raises(type(error)) as refused:
            ops.box_convert(rushlight.from_numpy(array), start, end)
        assert str(refused.value) == str(error)
        return
    both("box_convert", [array], start, end)


def test_simple_functions_of_boxes():
    for fmt in ("xyxy", "xywh", "cxcywh"):
        both("box_area", [boxes(0, 5)], fmt)
    both("clip_boxes_to_image", [boxes(0, 5) - 3], (12, 9))
    both("remove_small_boxes", [boxes(0, 9)], 4.0, gradients=False)
    masks = np.random.default_rng(0).random((4, 6, 7)) > 0.9
    masks[2] = False
    both("masks_to_boxes", [masks])


@compiled
@pytest.mark.parametrize("seed", range(6))
def test_nms(seed):
    count = [0, 1, 30, 200, 200, 1500][seed]
    random = np.random.default_rng(seed)
    array = boxes(seed, count, np.float32)
    if seed == 4:  # ties, and boxes without area
        array = np.round(array)
        array[::7, 2:] = array[::7, :2]
    scores = np.round(random.random(count), 1 if seed == 4 else 7).astype(np.float32)
    classes = random.integers(0, 4, count)
    both("nms", [array, scores], 0.3, gradients=False)
    if seed != 4:  # the order of equal scores is nobody's promise there
        both("batched_nms", [array, scores, classes], 0.3, gradients=False)


@pytest.mark.parametrize(
    "name", ["generalized_box_iou_loss", "distance_box_iou_loss", "complete_box_iou_loss", "sigmoid_focal_loss"]
)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses(name, reduction):
    if name == "sigmoid_focal_loss":
        random = np.random.default_rng(0)
        arrays = [random.standard_normal((4, 5)), (random.random((4, 5)) > 0.5).astype(np.float64)]
        both(name, arrays, alpha=-1, gamma=1.5, reduction=reduction)
    else:
        arrays = [boxes(0, 40, side=6.0), boxes(1, 40, side=6.0)]
        both(name, [array[:0] for array in arrays], reduction=reduction)
    both(name, arrays, reduction=reduction)
    with pytest.raises(ValueError, match="Invalid Value for arg 'reduction'"):
        getattr(ops, name)(*map(rushlight.from_numpy, arrays), reduction="no")


def regions(seed, count, images):
    numbers = np.random.default_rng(seed).integers(0, images, (count, 1))
    return np.concatenate((numbers, boxes(seed, count, side=24.0) - 4), 1)


@compiled
@pytest.mark.parametrize("scale", [1.0, 0.31])
@pytest.mark.parametrize(
    "options", [{}, {"sampling_ratio": 2}, {"aligned": True}, {"sampling_ratio": 3, "aligned": True}]
)
def test_roi_align(scale, options):
    maps = np.random.default_rng(0).standard_normal((2, 3, 11, 13))
    rois = regions(1, 12, 2)
    rois[0, 3:] = rois[0, 1:3] - 2  # turned around
    rois[1, 1:] += 40  # outside
    for size in (3, (2, 4)):
        both("roi_align", [maps, rois], size, scale, **options)
        both("roi_align", [maps.astype(np.float32), rois.astype(np.float32)], size, scale, tolerance=1e-4, **options)


@compiled
@pytest.mark.parametrize("scale", [1.0, 0.31])
@pytest.mark.parametrize("name", ["roi_pool", "ps_roi_align", "ps_roi_pool"])
def test_other_regions(name, scale):
    maps = np.random.default_rng(0).standard_normal((2, 12, 11, 13))
    both(name, [maps, regions(1, 12, 2)], (2, 3), scale)
    both(name, [maps, regions(2, 12, 2)], 2, scale)


@compiled
@pytest.mark.parametrize("levels", [1, 3])
def test_multi_scale_roi_align(levels):
    random = np.random.default_rng(0)
    maps = {str(level): random.standard_normal((2, 3, 64 >> level, 48 >> level)) for level in range(levels)}
    regions = [boxes(seed, 9, side=100.0) for seed in (1, 2)]
    found = []
    for lib, room in ((torch, theirs), (rushlight, ops)):
        layer = room.MultiScaleRoIAlign(list(maps), 3, 2, canonical_scale=40, canonical_level=2)
        tensors = {name: lib.from_numpy(array.copy()).requires_grad_() for name, array in maps.items()}
        result = layer(tensors, [lib.from_numpy(each) for each in regions], [(128, 96), (120, 90)])
        (result * result).sum().backward()
        found.append([result.detach().numpy(), *(tensor.grad.numpy() for tensor in tensors.values())])
        found[-1].append(repr(layer))
    assert found[0].pop() == found[1].pop()
    for expected, got in zip(*found, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


@compiled
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("masked", [False, True])
def test_deform_conv2d(groups, masked):
    random = np.random.default_rng(0)
    maps = random.standard_normal((2, 4, 7, 8))
    weight, bias = random.standard_normal((6, 4 // groups, 3, 2)), random.standard_normal(6)
    offset = random.standard_normal((2, groups * 2 * 6, 4, 4)) * 2
    places = {"stride": 2, "padding": (1, 0), "dilation": (1, 1)}
    mask = [random.random((2, groups * 6, 4, 4))] if masked else []

    def call(lib, room, tensors):
        return room.deform_conv2d(*tensors[:4], mask=tensors[4] if masked else None, **places)

    found = []
    for lib, room in ((torch, theirs), (rushlight, ops)):
        tensors = [lib.from_numpy(array.copy()).requires_grad_() for array in (maps, offset, weight, bias, *mask)]
        result = call(lib, room, tensors)
        (result * result).sum().backward()
        found.append([result.detach().numpy(), *(tensor.grad.numpy() for tensor in tensors)])
    for expected, got in zip(*found, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["drop_block2d", "drop_block3d", "stochastic_depth"])
def test_random_drops(name):
    array = np.random.default_rng(0).standard_normal((3, 4, 9, 8, *([7] if name == "drop_block3d" else [])))
    for lib in (torch, rushlight):
        lib.manual_seed(4)
    if name == "stochastic_depth":
        both(name, [array], 0.5, "row")
        both(name, [array], 0.5, "batch")
    else:
        both(name, [array], 0.3, 3)


LAYERS = {
    "FrozenBatchNorm2d": (4,),
    "Conv2dNormActivation": (4, 6, 3),
    "Conv3dNormActivation": (4, 6, (3, 1, 3)),
    "SqueezeExcitation": (4, 2),
    "MLP": (4, [5, 6], torch.nn.LayerNorm),
    "Permute": ([0, 2, 3, 1],),
    "DropBlock2d": (0.2, 3),
    "DropBlock3d": (0.2, 3),
    "StochasticDepth": (0.2, "row"),
    "FeaturePyramidNetwork": ([4, 6], 5),
    "DeformConv2d": (4, 6, 3),
    "RoIAlign": (3, 0.5, 2),
    "RoIPool": (3, 0.5),
    "PSRoIAlign": (3, 0.5, 2),
    "PSRoIPool": (3, 0.5),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_begin_alike_and_print_alike(name):
    made = []
    for lib, room in ((torch, theirs), (rushlight, ops)):
        lib.manual_seed(0)
        arguments = [lib.nn.LayerNorm if each is torch.nn.LayerNorm else each for each in LAYERS[name]]
        made.append(getattr(room, name)(*arguments))
    assert repr(made[1]) == repr(made[0])
    states = [layer.state_dict() for layer in made]
    assert list(states[1]) == list(states[0])
    for key, value in states[0].items():
        assert np.array_equal(states[1][key].numpy(), value.numpy()), key

"""Digits, FakeData, ImageFolder, the base class, make_grid and save_image."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.utils.data import DataLoader, default_collate
from rushlight.vision import datasets, get_image_backend, set_image_backend, transforms, utils
from rushlight.vision.datasets.digits import load_digits
from rushlight.vision.datasets.folder import find_classes, is_image_file, make_dataset


def test_digits():
    images, labels = load_digits()
    assert images.shape == (1797, 8, 8) and images.max() == 16 and labels.max() == 9
    train, test = (datasets.Digits(part, transform=transforms.ToTensor()) for part in (True, False))
    assert (len(train), len(test)) == (1442, 355)
    assert sorted(train.targets.tolist() + test.targets.tolist()) == sorted(labels.tolist())
    assert train.data.min() == 0 and train.data.max() == 255
    image, target = test[0]
    place = np.flatnonzero(labels == target)[4]
    assert image.shape == (1, 8, 8) and np.abs(image.numpy()[0] - images[place] / 16).max() < 0.51 / 255
    assert np.ptp(np.bincount(test.targets.numpy())) <= 2
    batch, single = test.__getbatch__([5, 6]), default_collate([test[5], test[6]])
    assert rl.equal(batch[0], single[0]) and rl.equal(batch[1], single[1])
    first, *rest = repr(test).split("\n")
    assert first == "Dataset Digits" and rest[-2:] == ["    StandardTransform", "Transform: ToTensor()"]
    assert rest[:-2] == ["    Number of datapoints: 355", "    Split: Test"]
    assert test.class_to_idx["7"] == 7


def test_digits_through_a_loader():
    shapes = [tuple(images.shape) for images, _ in DataLoader(datasets.Digits(False, transforms.ToTensor()), 100)]
    assert shapes == [(100, 1, 8, 8)] * 3 + [(55, 1, 8, 8)]


def test_fake_data():
    dataset = datasets.FakeData(5, (3, 6, 4), num_classes=7, transform=transforms.ToTensor())
    rl.manual_seed(3)
    expected = rl.rand(1)
    rl.manual_seed(3)
    image, target = dataset[2]
    assert rl.equal(rl.rand(1), expected) and image.shape == (3, 6, 4) and 0 <= target < 7
    assert rl.equal(image, dataset[2][0]) and not rl.equal(image, dataset[3][0])
    shifted = datasets.FakeData(5, (3, 6, 4), num_classes=7, transform=transforms.ToTensor(), random_offset=1)
    assert rl.equal(shifted[1][0], image)
    with pytest.raises(IndexError, match="FakeData index out of range"):
        dataset[5]
    assert repr(dataset).startswith("Dataset FakeData\n    Number of datapoints: 5\n    StandardTransform")


def test_base_class():
    class Pairs(datasets.VisionDataset):
        def __len__(self):
            return 2

    with pytest.raises(ValueError, match="Only transforms or transform/target_transform can be passed as argument"):
        Pairs("a", transforms=abs, transform=abs)
    dataset = Pairs("~", target_transform=transforms.Lambda(abs))
    assert not dataset.root.startswith("~")
    assert dataset.transforms(1, -2) == (1, 2)
    assert repr(dataset).endswith("    StandardTransform\nTarget transform: Lambda()")
    assert Pairs("a", transforms=max).transforms(1, 2) == 2
    with pytest.raises(NotImplementedError):
        dataset[0]


@pytest.fixture
def image_folder(tmp_path):
    """cat/ and dog/ with small PNG files, one of them nested, and a text file."""
    image_module = pytest.importorskip("PIL.Image")
    for place, level in (("dog/b.png", 1), ("dog/sub/a.PNG", 2), ("cat/c.png", 3)):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        image_module.fromarray(np.full((4, 5), level, np.uint8)).save(path, "PNG")
    (tmp_path / "cat" / "notes.txt").write_text("x")
    return tmp_path


def test_image_folder(image_folder):
    dataset = datasets.ImageFolder(str(image_folder), transform=transforms.PILToTensor())
    assert dataset.classes == ["cat", "dog"] and dataset.class_to_idx == {"cat": 0, "dog": 1}
    assert [path.removeprefix(str(image_folder)) for path, _ in dataset.samples] == [
        "/cat/c.png", "/dog/b.png", "/dog/sub/a.PNG"
    ]  # fmt: skip
    assert dataset.targets == [0, 1, 1] and dataset.imgs is dataset.samples and len(dataset) == 3
    assert [dataset[index][0][0, 0, 0].item() for index in range(3)] == [3, 1, 2]
    assert dataset[0][0].shape == (3, 4, 5)
    assert datasets.ImageFolder(image_folder)[0][0].mode == "RGB"
    assert repr(dataset).startswith(
        f"Dataset ImageFolder\n    Number of datapoints: 3\n    Root location: {image_folder}"
    )


def test_dataset_folder(image_folder):
    dataset = datasets.DatasetFolder(
        image_folder, str, extensions=".txt", allow_empty=True, target_transform=lambda n: n + 1
    )
    assert len(dataset) == 1 and dataset[0] == (str(image_folder / "cat" / "notes.txt"), 1)
    chosen = datasets.ImageFolder(image_folder, is_valid_file=lambda path: path.endswith("b.png"), allow_empty=True)
    assert chosen.targets == [1] and chosen.extensions is None


def test_folder_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder in"):
        find_classes(tmp_path)
    (tmp_path / "b").mkdir()
    (tmp_path / "a").mkdir()
    with pytest.raises(FileNotFoundError) as caught:
        make_dataset(tmp_path, extensions=(".png", ".jpg"))
    assert str(caught.value).split("\n")[0] == (
        "Found no valid file for the classes a, b. Supported extensions are: .png, .jpg"
    )
    with pytest.raises(ValueError, match=r"'class_to_index' must have at least one entry to collect any samples."):
        make_dataset(tmp_path, {}, ".png")
    for options in ({}, {"extensions": ".png", "is_valid_file": bool}):
        with pytest.raises(ValueError, match="Both extensions and is_valid_file cannot be None or not None"):
            make_dataset(tmp_path, **options)
    assert make_dataset(tmp_path, extensions=".png", allow_empty=True) == []
    assert is_image_file("a.JPEG") and not is_image_file("a.gif")


def test_make_grid():
    images = rl.arange(5.0).view(5, 1, 1, 1).expand(5, 1, 2, 3)
    grid = utils.make_grid(images, nrow=2, padding=1, pad_value=9.0)
    assert grid.shape == (3, 10, 9)
    assert grid[0, 0].tolist() == [9.0] * 9 and grid[1, 1].tolist() == [9, 0, 0, 0, 9, 1, 1, 1, 9]
    assert grid[2, 7].tolist() == [9, 4, 4, 4, 9, 9, 9, 9, 9]
    assert utils.make_grid(rl.zeros(4, 5)).shape == (3, 4, 5)
    assert utils.make_grid([rl.zeros(3, 4, 5)] * 2).shape == (3, 8, 16)
    scaled = utils.make_grid(images, nrow=5, padding=0, normalize=True)
    assert scaled[0, 0, ::3].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0] and images.max() == 4
    fixed = utils.make_grid(images, nrow=5, padding=0, normalize=True, value_range=(1, 3))
    assert fixed[0, 0, ::3].tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]
    each = utils.make_grid(rl.tensor([[[[0.0, 2.0]]], [[[0.0, 4.0]]]]), padding=0, normalize=True, scale_each=True)
    assert each[0, 0].tolist() == [0.0, 1.0, 0.0, 1.0]
    with pytest.raises(TypeError, match="tensor or list of tensors expected, got <class 'int'>"):
        utils.make_grid(3)
    with pytest.raises(TypeError, match="got a list containing <class 'int'>"):
        utils.make_grid([3])


def test_save_image(tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    utils.save_image(rl.tensor([[0.0, 0.5, 2.0]]).expand(1, 1, 3), tmp_path / "a.png")
    assert np.asarray(image_module.open(tmp_path / "a.png"))[0, :, 0].tolist() == [0, 128, 255]


def test_backend():
    set_image_backend("PIL")
    assert get_image_backend() == "PIL"
    with pytest.raises(ValueError, match=r"Invalid backend 'x'. Options are 'PIL' and 'accimage'"):
        set_image_backend("x")

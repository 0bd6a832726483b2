"""MNIST and its kin: reading the files, what an item is, the printed form, damaged and missing files, batches."""

import gzip
import struct
import subprocess
import sys

import numpy as np
import pytest
from vision_files import idx_bytes, write_mnist

import rushlight as rl
from rushlight.utils.data import DataLoader, Subset, default_collate
from rushlight.vision import datasets, transforms
from rushlight.vision.datasets.idx import read_idx, read_sn3_pascalvincent_tensor


def same(left, right):
    """Whether two collated batches are equal to the last bit."""
    assert type(left) is type(right) and len(left) == len(right)
    for one, other in zip(left, right):
        assert one.dtype is other.dtype and one.shape == other.shape
        assert np.array_equal(one.numpy(), other.numpy())
    return True


@pytest.mark.parametrize("name", ["MNIST", "FashionMNIST", "KMNIST"])
def test_reads_both_parts(tmp_path, name):
    arrays = write_mnist(tmp_path, name)
    for train, part in ((True, "train"), (False, "t10k")):
        dataset = getattr(datasets, name)(tmp_path, train=train, transform=transforms.ToTensor())
        images, labels = arrays[part]
        assert len(dataset) == len(images)
        assert dataset.data.dtype is rl.uint8 and dataset.targets.dtype is rl.int64
        assert np.array_equal(dataset.data.numpy(), images) and dataset.targets.tolist() == labels.tolist()
        image, target = dataset[3]
        assert type(target) is int and target == labels[3]
        assert image.shape == (1, 28, 28) and image.dtype is rl.float32
        assert np.array_equal(image.numpy()[0], images[3] / np.float32(255))


def test_existing_files_are_taken_without_a_network(tmp_path, monkeypatch):
    write_mnist(tmp_path, "FashionMNIST")
    monkeypatch.setattr(datasets.FashionMNIST, "mirrors", ["http://127.0.0.1:9/"])
    assert len(datasets.FashionMNIST(root=str(tmp_path), train=True, download=True)) == 20


def test_printed_form(tmp_path, monkeypatch):
    write_mnist(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
    assert repr(datasets.MNIST("data", transform=transform)) == (
        "Dataset MNIST\n"
        "    Number of datapoints: 20\n"
        "    Root location: data\n"
        "    Split: Train\n"
        "    StandardTransform\n"
        "Transform: Compose(\n"
        "               ToTensor()\n"
        "               Normalize(mean=(0.5,), std=(0.5,))\n"
        "           )"
    )
    assert repr(datasets.MNIST("data", train=False)).endswith(
        "Number of datapoints: 10\n    Root location: data\n    Split: Test"
    )


def test_without_transform_items_are_pillow_images(tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    arrays = write_mnist(tmp_path)
    image, _ = datasets.MNIST(tmp_path)[2]
    assert isinstance(image, image_module.Image) and image.mode == "L"
    assert np.array_equal(np.asarray(image), arrays["train"][0][2])


def test_a_transform_of_the_user_sees_pillow_images(tmp_path):
    pytest.importorskip("PIL")
    write_mnist(tmp_path)
    seen = []
    datasets.MNIST(tmp_path, transform=lambda image: seen.append(image.size) or 0)[0]
    assert seen == [(28, 28)]

    class Mine(transforms.CenterCrop):
        def forward(self, image):
            return image.size

    assert datasets.MNIST(tmp_path, transform=transforms.Compose([Mine(3)]))[0][0] == (28, 28)


def test_missing_pillow_is_named(tmp_path):
    write_mnist(tmp_path)
    program = (
        "import sys; sys.modules['PIL'] = None\n"
        "import rushlight as torch\n"
        "from rushlight.vision import datasets, transforms\n"
        f"root = {str(tmp_path)!r}\n"
        "chain = transforms.Compose([transforms.RandomCrop(24), transforms.RandomHorizontalFlip(),\n"
        "    transforms.RandomRotation(10), transforms.Resize(12), transforms.ToTensor()])\n"
        "print(tuple(datasets.MNIST(root, transform=chain)[0][0].shape))\n"
        "for transform in (None, transforms.ColorJitter(0.5)):\n"
        "    try:\n"
        "        datasets.MNIST(root, transform=transform)[0]\n"
        "    except ImportError as error:\n"
        "        print(error)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("(1, 12, 12)\n") and result.stdout.count("pip install 'rushlight[vision]'") == 2


def test_classes_and_old_names(tmp_path):
    write_mnist(tmp_path)
    dataset = datasets.MNIST(tmp_path)
    assert dataset.class_to_idx["0 - zero"] == 0 and len(dataset.class_to_idx) == 10
    for old in ("train_labels", "test_labels"):
        with pytest.warns(UserWarning, match=f"{old} has been renamed targets"):
            assert getattr(dataset, old) is dataset.targets
    for old in ("train_data", "test_data"):
        with pytest.warns(UserWarning, match=f"{old} has been renamed data"):
            assert getattr(dataset, old) is dataset.data


def test_missing_files(tmp_path):
    with pytest.raises(RuntimeError) as caught:
        datasets.MNIST(tmp_path)
    lines = str(caught.value).split("\n")
    assert lines[0] == "Dataset not found. You can use download=True to download it"
    assert lines[1].startswith("hint: ") and "train-images-idx3-ubyte" in lines[1] and "MNIST" in lines[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-100], "truncated: its header promises 20x28x28 items, 15696 bytes in all; it has 15596"),
        (lambda data: data + b"x", "too long: its header promises 20x28x28 items, 15696 bytes in all; it has 15697"),
        (lambda data: data[:9], "ends within its header"),
        (lambda data: b"", "is not an IDX file: it begins with the bytes (none)"),
        (lambda data: b"<html>", "is not an IDX file: it begins with the bytes 3c 68 74 6d"),
        (lambda data: idx_bytes(np.zeros(20)), "holds 1 dimensions of uint8, not images"),
        (lambda data: struct.pack(">HBB", 0, 8, 3) + b"\xff" * 12, "truncated"),
    ],
)
def test_damaged_images(tmp_path, change, message):
    write_mnist(tmp_path)
    path = tmp_path / "MNIST" / "raw" / "train-images-idx3-ubyte"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(RuntimeError) as caught:
        datasets.MNIST(tmp_path)
    assert message in str(caught.value) and str(path) in str(caught.value)


def test_images_and_labels_have_to_match(tmp_path):
    write_mnist(tmp_path)
    (tmp_path / "MNIST" / "raw" / "train-labels-idx1-ubyte").write_bytes(idx_bytes(np.zeros(7)))
    with pytest.raises(RuntimeError, match=r"holds 7 labels, but .* holds 20 images"):
        datasets.MNIST(tmp_path)


@pytest.mark.parametrize("code", ["u1", "i1", "i2", "i4", "f4", "f8"])
def test_idx_types(tmp_path, code):
    array = np.arange(-6, 6).astype(code).reshape(3, 4)
    number = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}[code]
    path = tmp_path / "a"
    path.write_bytes(struct.pack(">HBBII", 0, number, 2, 3, 4) + array.astype(">" + code).tobytes())
    assert np.array_equal(read_idx(path), array) and read_idx(path).dtype == array.dtype
    assert read_sn3_pascalvincent_tensor(path).shape == (3, 4)


ACCEPTED = {
    "ToTensor": transforms.ToTensor(),
    "normalized": transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))]),
    "cropped": transforms.Compose([transforms.CenterCrop(20), transforms.ToTensor()]),
    "resized": transforms.Compose([transforms.Resize(32), transforms.ToTensor()]),
    "small": transforms.Compose([transforms.Resize((14, 14)), transforms.Grayscale(3), transforms.ToTensor()]),
    "bytes": transforms.PILToTensor(),
    "v2": transforms.v2.Compose([transforms.v2.ToImage(), transforms.v2.ToDtype(rl.float32, scale=True)]),
    "half": transforms.Compose([transforms.PILToTensor(), transforms.ConvertImageDtype(rl.float16)]),
    "nested": transforms.Compose([transforms.Compose([transforms.CenterCrop((9, 11))]), transforms.ToTensor()]),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_batches_equal_single_items(tmp_path, name):
    write_mnist(tmp_path)
    dataset = datasets.MNIST(tmp_path, transform=ACCEPTED[name])
    indices = [3, 0, 19, 3]
    batch = dataset.__getbatch__(indices)
    assert batch is not NotImplemented
    assert same(batch, default_collate([dataset[index] for index in indices]))


REFUSED = {
    "none": None,
    "random": transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor()]),
    "user": lambda image: 0,
    "pillow": transforms.CenterCrop(3),
    "large": transforms.Compose([transforms.CenterCrop(40), transforms.ToTensor()]),
    "subclass": type("Mine", (transforms.ToTensor,), {"__call__": lambda self, image: 0})(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_transforms_are_read_one_by_one(tmp_path, name):
    write_mnist(tmp_path)
    assert datasets.MNIST(tmp_path, transform=REFUSED[name]).__getbatch__([0, 1]) is NotImplemented


def test_hooked_transforms_are_read_one_by_one(tmp_path):
    write_mnist(tmp_path)
    normalize = transforms.Normalize((0.5,), (0.5,))
    normalize.register_forward_hook(lambda module, inputs, output: output + 1)
    dataset = datasets.MNIST(tmp_path, transform=transforms.Compose([transforms.ToTensor(), normalize]))
    assert dataset.__getbatch__([0]) is NotImplemented


def test_indices_out_of_range_are_left_to_single_reads(tmp_path):
    write_mnist(tmp_path)
    dataset = datasets.MNIST(tmp_path, transform=transforms.ToTensor())
    for indices in ([], [20], [-1]):
        assert dataset.__getbatch__(indices) is NotImplemented
    with pytest.raises(IndexError):
        dataset[20]


def test_target_transform_in_batches(tmp_path):
    write_mnist(tmp_path)
    dataset = datasets.MNIST(tmp_path, transform=transforms.ToTensor(), target_transform=lambda target: target / 2)
    assert same(dataset.__getbatch__([1, 2]), default_collate([dataset[1], dataset[2]]))


def test_batches_follow_replaced_data(tmp_path):
    arrays = write_mnist(tmp_path)
    dataset = datasets.MNIST(tmp_path, transform=transforms.ToTensor())
    dataset.data, dataset.targets = dataset.data[5:], dataset.targets[5:].tolist()
    images, labels = dataset.__getbatch__([0, 1])
    assert np.array_equal(images.numpy()[0, 0], arrays["train"][0][5] / np.float32(255))
    assert labels.tolist() == arrays["train"][1][5:7].tolist()
    dataset.data = dataset.data.float()
    assert dataset.__getbatch__([0, 1]) is NotImplemented


def test_default_dtype_in_batches(tmp_path):
    write_mnist(tmp_path)
    dataset = datasets.MNIST(tmp_path, transform=transforms.ToTensor())
    rl.set_default_dtype(rl.float64)
    try:
        assert dataset.__getbatch__([0, 1])[0].dtype is rl.float64
        assert same(dataset.__getbatch__([0, 1]), default_collate([dataset[0], dataset[1]]))
    finally:
        rl.set_default_dtype(rl.float32)


def test_items_do_not_share_memory_with_the_dataset(tmp_path):
    arrays = write_mnist(tmp_path)
    dataset = datasets.MNIST(tmp_path, transform=transforms.PILToTensor())
    dataset[0][0].zero_()
    dataset.__getbatch__([0])[0].zero_()
    assert np.array_equal(dataset.data[0].numpy(), arrays["train"][0][0])


def test_loader_gives_the_same_batches(tmp_path):
    write_mnist(tmp_path)
    dataset = datasets.MNIST(tmp_path, transform=transforms.ToTensor())

    class Slow(datasets.MNIST):
        raw_folder = dataset.raw_folder

        def __getitem__(self, index):
            return super().__getitem__(index)

    slow = Slow(tmp_path, transform=transforms.ToTensor())
    for fast, plain in ((dataset, slow), (Subset(dataset, [4, 1, 7]), Subset(slow, [4, 1, 7]))):
        pairs = list(zip(DataLoader(fast, batch_size=6), DataLoader(plain, batch_size=6)))
        assert pairs and all(same(one, other) for one, other in pairs)


def test_archives_beside_the_files_are_unpacked_without_a_network(tmp_path, monkeypatch):
    from vision_files import compressed, mnist_arrays, mnist_files

    archives, resources = compressed(mnist_files(mnist_arrays()))
    folder = tmp_path / "MNIST" / "raw"
    folder.mkdir(parents=True)
    for name, data in archives.items():
        (folder / name).write_bytes(data)
    monkeypatch.setattr(datasets.MNIST, "resources", resources)
    monkeypatch.setattr(datasets.MNIST, "mirrors", ["http://127.0.0.1:9/"])
    assert len(datasets.MNIST(tmp_path, download=True)) == 20
    assert gzip.decompress(archives["t10k-labels-idx1-ubyte.gz"]) == (folder / "t10k-labels-idx1-ubyte").read_bytes()


@pytest.mark.parametrize(
    "transform",
    [
        transforms.RandomCrop(28, padding=4, padding_mode="reflect"),
        transforms.RandomApply([transforms.RandomHorizontalFlip(), transforms.Pad(2, fill=9)], p=0.6),
        transforms.RandomAffine(20, (0.1, 0.2), (0.8, 1.3), 10),
        transforms.RandomRotation(30, transforms.InterpolationMode.BILINEAR, expand=False, fill=5),
        transforms.Compose([transforms.Resize(40, transforms.InterpolationMode.BICUBIC), transforms.CenterCrop(30)]),
        transforms.RandomGrayscale(0.5),
    ],
    ids=lambda transform: type(transform).__name__,
)
def test_arrays_and_pillow_images_give_the_same_items(tmp_path, transform):
    """What a dataset hands out does not depend on whether its transform was shown an array or a PIL image."""
    pytest.importorskip("PIL")
    write_mnist(tmp_path)
    fast = datasets.MNIST(tmp_path, transform=transforms.Compose([transform, transforms.ToTensor()]))
    slow = datasets.MNIST(tmp_path, transform=lambda image: transforms.ToTensor()(transform(image)))
    for index in range(len(fast)):
        rl.manual_seed(index)
        made = fast[index][0]
        rl.manual_seed(index)
        assert np.array_equal(made.numpy(), slow[index][0].numpy())

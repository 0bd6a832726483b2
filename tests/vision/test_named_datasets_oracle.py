"""CelebA, ImageNet, INaturalist, Places365 and QMNIST on small folders, beside torchvision's."""

import hashlib
import io
import os
import struct
import tarfile

import numpy as np
import pytest
from torchvision_oracle import torch, torchvision

from rushlight.vision import datasets as ours

theirs = torchvision.datasets
Image = pytest.importorskip("PIL.Image")


def put_image(path, level):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((4, 5, 3), level, np.uint8)).save(path, "PNG")


def plain(value):
    """An item's part in a form that both libraries share."""
    if isinstance(value, tuple):
        return tuple(plain(part) for part in value)
    if hasattr(value, "tolist"):
        return str(value.dtype).removeprefix("torch."), value.tolist()
    return np.asarray(value).tolist() if isinstance(value, Image.Image) else value


def as_text(value):
    return str(plain(value))


def outcome(library, name, arguments, attributes=(), **options):
    """What a dataset holds and prints, or its error's type and first line."""
    try:
        dataset = getattr(library, name)(*arguments, **options)
        items = [plain(dataset[index]) for index in range(len(dataset))]
    except Exception as error:
        return type(error), str(error).splitlines()[0]
    return items, repr(dataset), [plain(getattr(dataset, attribute)) for attribute in attributes]


def same(name, *arguments, attributes=(), **options):
    found = outcome(ours, name, arguments, attributes, **options)
    assert found == outcome(theirs, name, arguments, attributes, **options)
    return found


def with_checksums(monkeypatch, folder, change):
    """Let both libraries take the small files in ``folder``: ``change(library, checksum of a name)``."""
    for library in (ours, theirs):
        change(library, lambda name: hashlib.md5((folder / name).read_bytes()).hexdigest())


@pytest.fixture
def celeba(tmp_path, monkeypatch):
    folder = tmp_path / "celeba"
    for number in range(6):
        put_image(folder / "img_align_celeba" / f"{number}.png", number)
    rows = {
        "list_attr_celeba.txt": ("6\nSmiling  Young\n", lambda n: [1 if n % 2 else -1, -1]),
        "identity_CelebA.txt": ("", lambda n: [n * 10]),
        "list_bbox_celeba.txt": ("6\nimage_id x y width height\n", lambda n: [n, 2, 3, 4]),
        "list_landmarks_align_celeba.txt": ("6\n" + "p " * 10 + "\n", lambda n: list(range(n, n + 10))),
        "list_eval_partition.txt": ("", lambda n: [n % 3]),
    }
    for name, (head, numbers) in rows.items():
        lines = [f"{n}.png " + "  ".join(map(str, numbers(n))) for n in range(6)]
        (folder / name).write_text(head + "\n".join(lines) + "\n")

    def change(library, checksum):
        kind = library.CelebA
        listed = [(key, md5 if name.endswith(".zip") else checksum(name), name) for key, md5, name in kind.file_list]
        monkeypatch.setattr(kind, "file_list", listed)

    with_checksums(monkeypatch, folder, change)
    return tmp_path


@pytest.mark.parametrize("split", ["train", "VALID", "test", "all", "other", 3])
def test_celeba(celeba, split):
    same("CelebA", str(celeba), split=split, attributes=("attr", "attr_names", "filename", "identity", "bbox"))


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # torchvision leaves the image open when it refuses
@pytest.mark.parametrize("kind", [[], ["attr", "identity"], "bbox", ["landmarks"], "age"])
def test_celeba_targets(celeba, kind):
    same("CelebA", str(celeba), target_type=kind)
    same("CelebA", str(celeba), target_type=kind, target_transform=as_text)


def test_celeba_is_missing(tmp_path):
    assert same("CelebA", str(tmp_path))[0] is RuntimeError


@pytest.fixture
def places(tmp_path, monkeypatch):
    (tmp_path / "categories_places365.txt").write_text("/a/airfield 0\n/b/beach 1\n/b/barn/door 2\n")
    (tmp_path / "places365_train_standard.txt").write_text("/b/beach/1.png 1\n/a/airfield/2.png 0\n")
    (tmp_path / "places365_train_challenge.txt").write_text("/b/beach/1.png 1\n")
    (tmp_path / "places365_val.txt").write_text("v1.png 2\n")
    (tmp_path / "places365_test.txt").write_text("t1.png\n")
    for size in ("large", "256"):
        for number, place in enumerate(["data_{}_standard/b/beach/1", "data_{}_standard/a/airfield/2",
                                        "data_{}_challenge/b/beach/1", "val_{}/v1", "test_{}/t1"]):  # fmt: skip
            put_image(tmp_path / f"{place.format(size)}.png", number)

    def change(library, checksum):
        kind = library.Places365
        name = kind._CATEGORIES_META[0]
        monkeypatch.setattr(kind, "_CATEGORIES_META", (name, checksum(name)))
        lists = {split: (name, checksum(name)) for split, (name, _) in kind._FILE_LIST_META.items()}
        monkeypatch.setattr(kind, "_FILE_LIST_META", lists)

    with_checksums(monkeypatch, tmp_path, change)
    return tmp_path


@pytest.mark.parametrize("split", ["train-standard", "train-challenge", "val", "test", "all"])
@pytest.mark.parametrize("small", [False, True])
def test_places365(places, split, small):
    same(
        "Places365", str(places), split, small, attributes=("classes", "class_to_idx", "imgs", "targets", "images_dir")
    )
    same("Places365", str(places), split, small, transform=np.asarray, target_transform=as_text, download=True)


def test_places365_is_missing(tmp_path):
    assert same("Places365", str(tmp_path))[0] is RuntimeError


INATURALIST = {
    "2021_train": ["00000_Animalia_Chordata_Aves_P_C_Cy_one", "00001_Animalia_Chordata_Aves_P_D_Ca_two", "00002_Plantae_T_M_R_F_G_s"],
    "2017": ["Aves/Crow", "Plantae/Oak", "Aves/Blue Tit"],
    "2018": ["Aves/1", "Plantae/0", "Plantae/2"],
    "2019": ["Aves/0", "Aves/two"],
    "2021_valid": ["00000_Animalia_Chordata"],
    "2021_train_mini": ["00001_a_b_c_d_e_f_g"],
}  # fmt: skip


@pytest.mark.parametrize("version", [*INATURALIST, "2020"])
@pytest.mark.parametrize("kind", ["full", ["full", "super"], "super", ["genus", "kingdom", "full"], "order"])
def test_inaturalist(tmp_path, version, kind):
    for number, place in enumerate(INATURALIST.get(version, [])):
        put_image(tmp_path / version / place / f"{number}.png", number)
    names = "all_categories", "categories_index", "categories_map", "index"
    same("INaturalist", str(tmp_path), version, kind, attributes=names)
    found = [outcome_of_names(library, str(tmp_path), version) for library in (ours, theirs)]
    assert found[0] == found[1]


def outcome_of_names(library, root, version):
    try:
        dataset = library.INaturalist(root, version, loader=os.path.basename, target_transform=as_text)
    except (RuntimeError, ValueError) as error:
        return str(error).splitlines()[0]
    found = [dataset[0]]
    for kind, number in [("full", 0), ("super", 1), ("genus", 1), ("genus", 9), ("age", 0)]:
        try:
            found.append(dataset.category_name(kind, number))
        except ValueError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize("gap", [["Aves/0", "Aves/2"], ["Aves/0", "Plantae/0"]])
def test_inaturalist_numbers(tmp_path, gap):
    for place in gap:
        put_image(tmp_path / "2018" / place / "1.png", 1)
    assert same("INaturalist", str(tmp_path), "2018")[0] is RuntimeError


def put_idx(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = {"uint8": 8, "int32": 12}[array.dtype.name]
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, kind, array.ndim, *array.shape)
    path.write_bytes(head + array.astype(array.dtype.newbyteorder(">")).tobytes())


@pytest.mark.parametrize("options", [{}, {"train": False}, {"what": "test10k"}, {"what": "test50k"}, {"what": "nist", "compat": False},
                                     {"compat": False, "target_transform": plain}, {"what": "all"}])  # fmt: skip
def test_qmnist(tmp_path, options):
    for name in ("qmnist-train", "qmnist-test", "xnist"):
        count = 10002 if name == "qmnist-test" and "10k" not in str(options) else 3
        images = np.arange(count * 4, dtype=np.int64).astype(np.uint8).reshape(count, 2, 2)
        put_idx(tmp_path / "QMNIST" / "raw" / f"{name}-images-idx3-ubyte", images)
        put_idx(
            tmp_path / "QMNIST" / "raw" / f"{name}-labels-idx2-int",
            np.arange(count * 8, dtype=np.int32).reshape(count, 8) % 10,
        )
    small = {**options, "transform": lambda image: np.asarray(image).tolist()}
    for library in (ours, theirs):
        if options.get("train") is False:
            dataset = library.QMNIST(str(tmp_path), **small)
            assert len(dataset) == 10002 and plain(dataset[10001]) == ([[68, 69], [70, 71]], 8)
    if options.get("train") is not False:
        same("QMNIST", str(tmp_path), **small)


def test_qmnist_is_missing(tmp_path):
    assert same("QMNIST", str(tmp_path))[0] is RuntimeError


def archive(path, files):
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as opened:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            opened.addfile(member, io.BytesIO(data))


def png(level):
    file = io.BytesIO()
    Image.fromarray(np.full((2, 2, 3), level, np.uint8)).save(file, "PNG")
    return file.getvalue()


def imagenet_archives(folder):
    """The three archives of a competition with two classes, and one above them."""
    matlab = pytest.importorskip("scipy.io")
    folder.mkdir()
    kind = [
        ("ILSVRC2012_ID", "O"),
        ("WNID", "O"),
        ("words", "O"),
        ("gloss", "O"),
        ("num_children", "O"),
        ("children", "O"),
    ]
    synsets = np.array(
        [
            (1, "n01", "tench, Tinca tinca", "fish", 0, []),
            (2, "n02", "goldfish", "fish", 0, []),
            (3, "n03", "fish", "all", 2, [1, 2]),
        ],
        dtype=kind,
    )
    held = io.BytesIO()
    matlab.savemat(held, {"synsets": synsets})
    kit = "ILSVRC2012_devkit_t12/data/"
    archive(
        folder / "ILSVRC2012_devkit_t12.tar.gz",
        {kit + "meta.mat": held.getvalue(), kit + "ILSVRC2012_validation_ground_truth.txt": b"2\n1\n2\n"},
    )
    archive(folder / "ILSVRC2012_img_val.tar", {f"ILSVRC2012_val_{n}.png": png(n) for n in (3, 1, 2)})
    for wnid, levels in (("n01", (5, 6)), ("n02", (7,))):
        archive(folder / f"{wnid}.tar", {f"{wnid}_{level}.png": png(level) for level in levels})
    archive(
        folder / "ILSVRC2012_img_train.tar",
        {f"{wnid}.tar": (folder / f"{wnid}.tar").read_bytes() for wnid in ("n01", "n02")},
    )
    for wnid in ("n01", "n02"):
        (folder / f"{wnid}.tar").unlink()


@pytest.mark.parametrize("split", ["train", "val"])
def test_imagenet(tmp_path, monkeypatch, split):
    found = []
    for library, place in ((ours, tmp_path / "a"), (theirs, tmp_path / "b")):
        imagenet_archives(place)
        module = __import__(f"{library.__name__}.imagenet", fromlist=["ARCHIVE_META"])
        meta = {
            key: (name, hashlib.md5((place / name).read_bytes()).hexdigest())
            for key, (name, _) in module.ARCHIVE_META.items()
        }
        monkeypatch.setattr(module, "ARCHIVE_META", meta)
        names = "classes", "class_to_idx", "wnids", "wnid_to_idx", "targets"
        for _ in range(2):  # the second time, everything is unpacked
            items, text, attributes = outcome(library, "ImageNet", (str(place), split), names)
            found.append((items, text.replace(str(place), ""), attributes, module.load_meta_file(str(place))))
        files = sorted(str(path.relative_to(place)) for path in place.rglob("*"))
        found.append(files)
    assert found[:3] == found[3:] and found[0] == found[1]


def test_imagenet_is_missing(tmp_path):
    assert same("ImageNet", str(tmp_path))[0] is RuntimeError
    assert same("ImageNet", str(tmp_path), "test")[0] is ValueError
    torch.save(({}, []), tmp_path / "meta.bin")
    for split in ("train", "val"):
        assert same("ImageNet", str(tmp_path), split)[0] is RuntimeError

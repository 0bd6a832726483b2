"""torch.hub: entry points of local repositories, weights from addresses; no code from the network."""

import hashlib

import pytest

import rushlight as torch

HUBCONF = '''
dependencies = ["os"]
import helper

def model(width, bias=True):
    """A layer."""
    return helper.layer(width, bias)

def _private():
    pass
'''


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "hubconf.py").write_text(HUBCONF)
    (tmp_path / "helper.py").write_text(
        "import rushlight\ndef layer(n, bias): return rushlight.nn.Linear(n, 2, bias)\n"
    )
    return tmp_path


def test_local_repositories(repository):
    assert torch.hub.load(repository, "model", 3, source="local", bias=False).weight.shape == (2, 3)
    assert torch.hub.list(repository, source="local") == ["model"]
    assert torch.hub.help(repository, "model", source="local") == "A layer."
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        torch.hub.load(repository, "other", source="local")
    (repository / "hubconf.py").write_text("dependencies = ['no_such_package']")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        torch.hub.load(repository, "model", source="local")


def test_no_code_comes_from_the_network():
    with pytest.raises(RuntimeError, match=r"no code is fetched.*\nhint: git clone https://github.com/owner/name"):
        torch.hub.load("owner/name:main", "model")
    with pytest.raises(ValueError, match='Unknown source: "web"'):
        torch.hub.load("owner/name", "model", source="web")


def test_weights_are_checked_and_put_in_place_as_a_whole(tmp_path):
    torch.save({"a": torch.ones(2)}, tmp_path / "source.pth")
    data = (tmp_path / "source.pth").read_bytes()
    digits = hashlib.sha256(data).hexdigest()[:8]
    good, bad = tmp_path / f"net-{digits}.pth", tmp_path / "net-00000000.pth"
    good.write_bytes(data)
    bad.write_bytes(data)
    folder = tmp_path / "weights"
    found = torch.hub.load_state_dict_from_url(good.as_uri(), str(folder), check_hash=True, progress=False)
    assert found["a"].tolist() == [1, 1] and (folder / good.name).exists()
    with pytest.raises(RuntimeError, match='invalid hash value \\(expected "00000000", got'):
        torch.hub.load_state_dict_from_url(bad.as_uri(), str(folder), check_hash=True)
    assert [path.name for path in folder.iterdir()] == [good.name]


def test_classes_with_slots_and_make_subclass():
    class Slotted(torch.Tensor):
        __slots__ = ("note",)

    made = torch.Tensor._make_subclass(Slotted, torch.ones(2), True)
    made.note = "here"
    assert type(made) is Slotted and made.requires_grad and made.note == "here" and vars(made) == {}
    assert type(torch.ones(2).as_subclass(Slotted) + 1) is Slotted
    plain = torch.ones(3)
    assert torch.Tensor._make_subclass(torch.nn.Parameter, plain).data_ptr() == plain.data_ptr()


def test_what_the_build_is():
    assert torch.__config__.show().startswith("PyTorch built with:\n") and torch.__version__ in torch.__config__.show()
    assert f"at::get_num_threads() : {torch.get_num_threads()}" in torch.__config__.parallel_info()

"""New memory under use_deterministic_algorithms: filled, as PyTorch fills it; and tensors on the memory of files."""

import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)

DTYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "bool",
    "complex64",
    "complex128",
    "uint16",
    "uint32",
    "uint64",
]
MAKERS = [
    *(f"m.empty(2, 3, dtype=m.{dtype})" for dtype in DTYPES), *(f"m.ones(2, dtype=m.{dtype}).resize_(5)" for dtype in DTYPES),
    "m.empty_like(m.ones(2, 2))", "m.empty_like(m.ones(2, 3).t(), dtype=m.int16)", "m.empty_strided((2, 2), (1, 2))",
    "m.empty_strided((2, 2), (8, 3))", "m.empty_permuted((2, 3), (1, 0))", "m.ones(2).new_empty(2)",
    "m.ones(2, dtype=m.int8).new_empty(2)", "m.ones(2).new_empty_strided((2,), (2,))", "m.ones(2, 2).resize_as_(m.ones(3))",
    "m.ones(2, 2)[0].resize_(4)", "m.ones(2, 2)[1].resize_(4)", "m.ones(4).resize_(2).resize_(4)", "m.ones(4).resize_(2).resize_(2, 3)",
    "m.Tensor(3)", "m.FloatTensor(2, 2)", "m.LongTensor(3)", "m.ones(2).new(3)", "m.zeros(2)", "m.add(m.ones(2), 1, out=m.empty(0))",
    "m.empty(2, out=m.empty(0))", "m.empty(0)", "m.empty(2, requires_grad=True)", "m.ones(3).set_().resize_(2)",
    "m.empty(1, 2, 2, 1, memory_format=m.channels_last)", "m.empty(2, device='meta').shape", "m.zeros(2, device='meta').resize_(5).shape",
]  # fmt: skip


@pytest.fixture
def deterministic():
    for library in LIBRARIES:
        library.use_deterministic_algorithms(True)
    yield
    for library in LIBRARIES:
        library.use_deterministic_algorithms(False)
        library.utils.deterministic.fill_uninitialized_memory = True


@pytest.mark.parametrize("text", MAKERS)
def test_filled(deterministic, text):
    assert repr(eval(text, {"m": rushlight})) == repr(eval(text, {"m": torch}))


def test_switches(deterministic):
    for library in LIBRARIES:
        settings = library.utils.deterministic
        assert settings.fill_uninitialized_memory is True
        settings.fill_uninitialized_memory = False
        assert settings.fill_uninitialized_memory is False
        library.full((100,), 3.0)
        library.use_deterministic_algorithms(True)
        assert not settings.fill_uninitialized_memory
        with pytest.raises(RuntimeError, match="expected a bool, but got int"):
            settings.fill_uninitialized_memory = 3
    assert not rushlight.base.uninitialised.FILLING
    rushlight.utils.deterministic.fill_uninitialized_memory = True
    rushlight.use_deterministic_algorithms(True, warn_only=True)
    assert rushlight.empty(2).isnan().all()
    rushlight.set_deterministic_debug_mode("default")
    assert not rushlight.base.uninitialised.FILLING


FILES = [
    "m.from_file(p, size=3)", "m.from_file(p, True, 3)", "m.from_file(p, shared=True, size=3, dtype=m.int32).fill_(5)",
    "m.from_file(p, size=3, dtype=m.int32)", "m.from_file(p, size=300, dtype=m.int32)", "m.from_file(p, size=-1, dtype=m.int32)",
    "m.from_file(p, dtype=m.int32)", "m.from_file(p, shared=None, size=2, dtype=m.int32)", "m.from_file(p, size=2, requires_grad=True)",
    "m.from_file(p, size=2, pin_memory=True)", "m.from_file(p, size=2, device='meta')", "m.from_file(3, size=2)", "m.from_file()",
    "m.from_file(p, size=2.5)", "m.from_file(p, size=2).is_shared()",
    "m.from_file(p, size=2, dtype=m.int32).add_(1)", "m.from_file(p, size=2, dtype=m.int32)",
    "m.from_file(p, size=0)", "m.from_file(p, size=2).resize_(9)", "m.from_file(p, True, 2, dtype=m.int32).add_(1)",
    "m.from_file(p, size=2, dtype=m.int32)", "m.IntStorage.from_file(p, False, 2).tolist()",
    "m.IntStorage.from_file(p, True, 2).fill_(9).tolist()", "m.UntypedStorage.from_file(p, False, 5).tolist()",
    "m.UntypedStorage.from_file(p, True, 4).fill_(1).tolist()", "m.IntStorage.from_file(p, False, 2).tolist()",
    "m.UntypedStorage.from_file(p, True, 4).filename == p", "m.UntypedStorage.from_file(p, False, 2000)", "m.from_file(p, True, 300).shape",
]  # fmt: skip


def test_files(tmp_path):
    stories = []
    for library in LIBRARIES:
        path, story = str(tmp_path / library.__name__), []
        for text in FILES:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    story.append(repr(eval(text, {"m": library, "p": path})))
            except Exception as error:
                story.append((type(error).__name__, str(error).splitlines()[0].replace(path, "P")))
        stories.append(story)
    for text, ours, theirs in zip(FILES, *stories, strict=True):
        assert ours == theirs, text

"""Helpers of ``torch.overrides`` against PyTorch's."""

import pytest

import rushlight
from rushlight import overrides

torch = pytest.importorskip("torch")


def test_ignored_functions_are_ignored_by_pytorch():
    ours, theirs = overrides.get_ignored_functions(), torch.overrides.get_ignored_functions()
    assert rushlight.arange in ours and rushlight.zeros in ours and rushlight.add not in ours
    names = {function.__name__ for function in ours}
    assert len(names & {getattr(function, "__name__", "") for function in theirs}) > 15
    assert not names & {function.__name__ for function in torch.overrides.get_testing_overrides()}


def test_testing_overrides_have_the_arguments():
    found = overrides.get_testing_overrides()
    assert found[rushlight.add](1, 2) == -1 and len(found) > 1000
    assert set(found) >= set(overrides.get_overridable_functions()[rushlight.Tensor])


def test_modes_by_their_names():
    for library in (torch, rushlight):
        module = library.overrides
        assert module._get_current_function_mode() is None
        with module.BaseTorchFunctionMode() as mode:
            assert module._get_current_function_mode() is mode
            assert module._get_current_function_mode_stack() == [mode]
            assert library.ones(2).sum().item() == 2
        assert module._get_current_function_mode_stack() == []
        assert all(callable(function) for function in module.get_default_nowrap_functions())

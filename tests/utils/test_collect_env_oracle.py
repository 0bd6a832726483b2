"""The report of the environment has PyTorch's lines, in its order."""

import pytest

from rushlight.utils import collect_env as ours

theirs = pytest.importorskip("torch.utils.collect_env")


def test_fields_and_lines():
    assert ours.SystemEnv._fields == theirs.SystemEnv._fields
    facts = {name: f"value of {name}" for name in ours.SystemEnv._fields}
    for changes in (
        {},
        {"gcc_version": None, "conda_packages": None},
        {"pip_packages": "a==1\nb==2", "pip_version": "pip3"},
    ):
        given = facts | {"hip_compiled_version": "N/A"} | changes
        mine, other = (module.pretty_str(module.SystemEnv(**given)) for module in (ours, theirs))
        assert mine == other


def test_what_is_known_of_this_machine():
    text = ours.get_pretty_env_info()
    assert (
        text.startswith("PyTorch version: rushlight ")
        and "Is CUDA available: False" in text
        and "[pip3] numpy==" in text
    )
    assert ours.run(["no such program"])[0] == 127

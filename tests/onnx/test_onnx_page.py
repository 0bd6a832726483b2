"""The examples in docs/onnx.md print what the page says."""

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "onnx.md"


def test_examples(tmp_path, monkeypatch):
    pytest.importorskip("onnx.checker")
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    examples = doctest.DocTestParser().get_examples("\n".join(blocks), PAGE.name)
    test = doctest.DocTest(examples, {"__name__": "__main__"}, PAGE.name, str(PAGE), 0, None)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    with pytest.warns(UserWarning, match="training mode"):
        assert runner.run(test).failed == 0
    assert len(examples) > 20

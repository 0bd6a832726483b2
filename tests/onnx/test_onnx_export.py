"""Models in ONNX: what ONNX Runtime gives, at other sizes, too; names, files, versions, modes, errors."""

import io
import itertools
import os

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.compiler.errors import UserError
from rushlight.export import Dim
from rushlight.nn import functional as F
from rushlight.vision.models import VisionTransformer, resnet18, swin_t

onnx = pytest.importorskip("onnx.checker") and pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

BATCH, TIME, HEIGHT = Dim("batch"), Dim("time"), Dim("height", min=2)


class Cnn(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, groups=2), nn.SiLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(4, 5),
        )  # fmt: skip


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.deep = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
        self.up, self.out = nn.ConvTranspose2d(8, 4, 2, 2), nn.Conv2d(8, 1, 1)

    def forward(self, x):
        wide = self.down(x).relu()
        deep = self.deep(F.max_pool2d(wide, 2)).relu()
        rough = F.interpolate(deep[:, :1], size=x.shape[-2:], mode="bilinear")
        return self.out(torch.cat([wide, self.up(deep)], 1)) + rough


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(11, 8), nn.Embedding(64, 8)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)

    def forward(self, tokens):
        found = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.layers(found, mask=mask, is_causal=True)


class Writing(nn.Module):
    """In-place writes into tensors and views of them, seen by other views."""

    def forward(self, x):
        copied = x.clone()
        second = copied[:, 1]
        copied[:, 0] = 1
        copied += 1
        copied[:, :, 2:] = x[:, :, 2:] * 3
        second.mul_(2)
        copied.view(-1)[0:2] = 7
        copied.transpose(0, 1)[0].add_(5)
        copied[:, :, 1:-1:2] = 9
        return copied, second + 1, torch.zeros_like(x).scatter_(1, (x > 0).long(), 2.0)


def vit():
    model = VisionTransformer(
        image_size=16, patch_size=8, num_layers=2, num_heads=2, hidden_dim=8, mlp_dim=16, num_classes=5
    )
    nn.init.normal_(model.heads.head.weight)
    return model


MODELS = {
    "cnn": (Cnn, lambda n, t: (torch.randn(n, 3, 8, 2 * t),), ({0: BATCH, 3: 2 * TIME},)),
    "lstm": (
        lambda: nn.LSTM(4, 3, 2, bidirectional=True),
        lambda n, t: (torch.randn(t, n, 4), (torch.randn(4, n, 3), torch.randn(4, n, 3))),
        ({0: TIME, 1: BATCH}, ({1: BATCH}, {1: BATCH})),
    ),
    "transformer": (
        lambda: nn.Transformer(8, 2, 1, 1, 16, batch_first=True),
        lambda n, t: (torch.randn(n, t, 8), torch.randn(n, t + 1, 8)),
        ({0: BATCH, 1: TIME}, {0: BATCH, 1: TIME + 1}),
    ),
    "language": (Language, lambda n, t: (torch.randint(0, 11, (n, t)),), ({0: BATCH, 1: TIME},)),
    "vit": (vit, lambda n, t: (torch.randn(n, 3, 16, 16),), ({0: BATCH},)),
    "unet": (UNet, lambda n, t: (torch.randn(n, 1, 2 * t, 8),), ({0: BATCH, 2: 2 * HEIGHT},)),
    "writing": (Writing, lambda n, t: (torch.randn(n, 3, 5),), ({0: BATCH},)),
}  # fmt: skip


def assert_runs_like(program, model, inputs):
    expected = torch.utils._pytree.tree_leaves(model(*inputs))
    for found, wanted in zip(program(*inputs), expected, strict=True):
        torch.testing.assert_close(found, wanted.detach(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_models_run_at_other_sizes(name):
    make, inputs, shapes = MODELS[name]
    model = make().eval()
    program = torch.onnx.export(model, inputs(2, 5), dynamic_shapes=shapes, verbose=False)
    onnx.checker.check_model(program.model_proto, full_check=True)
    for sizes in ((2, 5), (3, 8), (1, 4)):
        assert_runs_like(program, model, inputs(*sizes))


@pytest.mark.slow
@pytest.mark.parametrize("make", [resnet18, swin_t])
def test_models_of_vision(make):
    model = make().eval()
    program = torch.onnx.export(model, (torch.randn(1, 3, 32, 32),), dynamic_shapes=({0: BATCH},), verbose=False)
    assert_runs_like(program, model, (torch.randn(2, 3, 32, 32),))


def test_windows_over_the_end_at_sizes_that_vary():
    model = nn.Sequential(nn.MaxPool1d(2, ceil_mode=True), nn.AvgPool1d(3, 2, ceil_mode=True)).eval()
    program = torch.onnx.export(model, (torch.randn(1, 2, 14),), dynamic_shapes=({2: TIME},), verbose=False)
    for length in range(9, 16):
        assert_runs_like(program, model, (torch.randn(1, 2, length),))

    class Restoring(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.ConvTranspose1d(2, 2, 2, 2)

        def forward(self, x):
            return self.up(x[:, :, 1::2], output_size=x.shape[-1:])

    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match="leave output_size out"):
        torch.onnx.export(Restoring().eval(), (torch.randn(1, 2, 9),), dynamic_shapes=({2: TIME},), verbose=False)


LINEAR, X = nn.Sequential(nn.Linear(3, 2), nn.ReLU()).eval(), torch.randn(4, 3)


def described(values):
    """``{name: sizes}`` of inputs or outputs."""
    return {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}


def test_names_and_sizes(capsys):
    program = torch.onnx.export(LINEAR, (X,), dynamic_shapes=({0: "rows"},))
    graph = program.model_proto.graph
    assert [(each.domain, each.version) for each in program.model_proto.opset_import] == [("", 20)]
    assert described(graph.input) == {"input": ["rows", 3]} and described(graph.output) == {"relu": ["rows", 2]}
    assert [each.name for each in graph.initializer] == ["0.weight", "0.bias"]
    assert [node.op_type for node in graph.node] == ["Gemm", "Relu"]
    line = "[torch.onnx] Obtain model graph for `Sequential([...]` with `torch.export.export(..., strict=False)`..."
    assert capsys.readouterr().out.splitlines()[:2] == [line, f"{line} ✅"]
    program = torch.onnx.export(LINEAR, (X,), input_names=["x"], output_names=["y"], verbose=False)
    graph = program.model_proto.graph
    assert described(graph.input) == {"x": [4, 3]} and described(graph.output) == {"y": [4, 2]}
    program.rename_axes({"a": "b"})
    assert capsys.readouterr().out == ""


def test_dynamic_axes():
    with pytest.warns(UserWarning, match="'dynamic_axes' is not recommended when dynamo=True"):
        program = torch.onnx.export(LINEAR, (X,), input_names=["x"], dynamic_axes={"x": {0: "rows"}}, verbose=False)
    assert described(program.model_proto.graph.input) == {"x": ["rows", 3]}

    class Adding(nn.Module):
        def forward(self, x, y):
            return x + y

    with pytest.warns(UserWarning, match="'dynamic_axes' is not recommended"):
        program = torch.onnx.export(
            Adding().eval(), (X, X), output_names=["sum"],
            dynamic_axes={"x": {0: "rows"}, "y": {0: "rows"}, "sum": [0]}, verbose=False,
        )  # fmt: skip
    assert described(program.model_proto.graph.input) == {"x": ["rows", 3], "y": ["rows", 3]}


def test_files(tmp_path):
    path, large = tmp_path / "model.onnx", nn.Linear(64, 64).eval()
    for _ in range(2):  # the second time over the first
        program = torch.onnx.export(large, (torch.randn(2, 64),), path, verbose=False)
        assert (tmp_path / "model.onnx.data").stat().st_size == 64 * 64 * 4 and path.stat().st_size < 2000
        assert onnx.numpy_helper.to_array(onnx.load(path).graph.initializer[0]).tolist() == large.weight.tolist()
    program = torch.onnx.export(LINEAR, (X,), verbose=False)
    program.save(path, external_data=False)
    assert onnx.load(path) == program.model_proto
    with pytest.warns(DeprecationWarning, match="You are using the legacy TorchScript-based ONNX export"):
        assert torch.onnx.export(LINEAR, (X,), path, dynamo=False, verbose=True) is None
    assert onnx.load(path).graph == program.model_proto.graph
    memory = io.BytesIO()
    with pytest.warns(DeprecationWarning, match="Saving ONNX model to a BytesIO object is deprecated"):
        torch.onnx.export(LINEAR, (X,), memory, verbose=False)
    assert onnx.load_from_string(memory.getvalue()) == program.model_proto
    with pytest.raises(TypeError, match=r"expected str, bytes or os\.PathLike object, not BytesIO"):
        program.save(io.BytesIO(), external_data=True)


def test_models_too_large_for_one_message_run_from_a_file(monkeypatch):
    monkeypatch.setattr("rushlight.onnx.program._LARGE", 50)
    program = torch.onnx.export(LINEAR, (X,), verbose=False)
    assert_runs_like(program, LINEAR, (X,))
    folder = program._folder.name
    assert os.listdir(folder)
    program.release()
    assert not os.path.exists(folder)


def test_reports_and_programs(tmp_path, capsys):
    options = {"report": True, "dump_exported_program": True, "artifacts_dir": tmp_path / "new"}
    torch.onnx.export(LINEAR, (X,), **options)
    program, report = sorted((tmp_path / "new").iterdir(), key=lambda path: path.suffix, reverse=True)
    assert torch.equal(torch.export.load(program).module()(X), LINEAR(X))
    text = report.read_text(encoding="utf-8")
    assert report.name.endswith("_success.md") and "- `linear_rows`: 1\n- `relu`: 1" in text and "relu = Relu" in text
    assert f"report has been saved to '{report}'" in capsys.readouterr().out

    class Inverting(nn.Module):
        def forward(self, x):
            return torch.linalg.inv(x) if x.shape[0] == 2 else x if x.sum() > 0 else -x

    for size, ending in ((2, "_conversion.md"), (3, "_pt_export.md")):
        with pytest.raises(torch.onnx.OnnxExporterError) as caught:
            torch.onnx.export(
                Inverting().eval(), (torch.eye(size),), verbose=False, report=True, artifacts_dir=tmp_path
            )
        (report,) = (path for path in tmp_path.iterdir() if path.name.endswith(ending))
        assert str(caught.value) in report.read_text(encoding="utf-8")


def test_tensors_as_inputs(tmp_path):
    path, names = tmp_path / "model.onnx", ["input", "0.weight", "0.bias"]
    for tensors, as_inputs in itertools.product((True, False), repeat=2):
        program = torch.onnx.export(
            LINEAR, (X,), path, keep_initializers_as_inputs=as_inputs, export_params=tensors, verbose=False
        )
        assert_runs_like(program, LINEAR, (X,))  # the program itself has its tensors in any case
        written = onnx.load(path, load_external_data=False).graph
        assert [v.name for v in written.input] == names[: 3 if as_inputs else 1]
        assert [each.name for each in written.initializer] == (names[1:] if tensors else [])
    with pytest.warns(DeprecationWarning, match="legacy"):
        torch.onnx.export(LINEAR, (X,), path, export_params=False, dynamo=False)
    assert [v.name for v in onnx.load(path).graph.input] == names


def test_other_weights_and_evaluators():
    program, other = torch.onnx.export(LINEAR, (X,), verbose=False), nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    assert_runs_like(program, LINEAR, (X,))
    program.apply_weights(other.state_dict())
    assert_runs_like(program, other, (X,))
    torch.testing.assert_close(program.call_reference(X)[0], other(X).detach())
    program.release()
    assert "Gemm" in repr(program) and "relu: USER_OUTPUT" in repr(program)
    with pytest.warns(torch.onnx.errors.OnnxExporterWarning, match="Weight 'other' not found in the model"):
        program.apply_weights({"other": X})
    hidden, weight = program.compute_values(["linear_gemm", "0.weight"], (X,))
    torch.testing.assert_close(hidden, other[0](X).detach())
    assert torch.equal(weight, other[0].weight)
    with pytest.raises(ValueError, match="Value 'none' not found in the model"):
        program.compute_values(["none"], (X,))
    with pytest.raises(ValueError, match="The model takes 1 tensors, but got 2"):
        program(X, X)


@pytest.mark.parametrize("version", [17, 18, 21, 26])
def test_versions(version):
    model = nn.Sequential(nn.Linear(3, 2), nn.GELU()).eval()
    program = torch.onnx.export(model, (X,), opset_version=version, verbose=False, verify=True)
    assert program.model_proto.opset_import[0].version == version
    assert_runs_like(program, model, (X,))


def test_versions_that_are_not_there(caplog):
    for version in (40, 9):  # the converter knows no such version, and not how Gemm was then
        program = torch.onnx.export(LINEAR, (X,), opset_version=version, verbose=False)
        assert program.model_proto.opset_import[0].version == 18
        assert f"cannot be converted to ONNX opset version {version} and stays at 18" in caplog.text

    class Sampling(nn.Module):
        def forward(self, x, grid):
            return F.grid_sample(x, grid, align_corners=False)

    inputs = torch.randn(1, 2, 4, 4), torch.rand(1, 3, 3, 2)
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match="added in version 20"):
        torch.onnx.export(Sampling().eval(), inputs, opset_version=18, verbose=False)
    program = torch.onnx.export(Sampling().eval(), inputs, verbose=False)
    assert_runs_like(program, Sampling(), inputs)


def test_modes():
    class Asking(nn.Module):
        def forward(self, x):
            assert torch.onnx.is_in_onnx_export()
            return F.dropout(x, 0.5, self.training) * 2

    model = Asking()
    with pytest.warns(UserWarning, match="Exporting a model while it is in training mode"):
        program = torch.onnx.export(model, (X,), verbose=False)
    assert [node.op_type for node in program.model_proto.graph.node] == ["Dropout", "Mul"]
    assert not torch.onnx.is_in_onnx_export() and model.training
    with pytest.warns(DeprecationWarning, match="legacy"):
        assert torch.onnx.export(model, (X,), dynamo=False) is None and model.training
    with torch.onnx.select_model_mode_for_export(model, torch.onnx.TrainingMode.EVAL):
        assert not model.training
    assert model.training
    with (
        pytest.warns(DeprecationWarning, match="legacy"),
        pytest.raises(TypeError, match=r"'mode' should be a torch\.onnx\.TrainingMode enum, but got '<class 'int'>'"),
    ):
        torch.onnx.export(model, (X,), dynamo=False, training=3)
    with (
        pytest.warns(DeprecationWarning, match="legacy"),
        pytest.raises(
            ValueError, match="only supports dynamic shapes through parameter dynamic_axes when dynamo=False"
        ),
    ):
        torch.onnx.export(model, (X,), dynamo=False, dynamic_shapes=({0: "rows"},))
    program = torch.export.export(LINEAR, (X,))
    assert torch.onnx.export(program, dynamo=False, verbose=False).exported_program is program


def test_forms_of_the_call():
    for args in (X, (X, {}), ({"input": X},)):
        assert_runs_like(torch.onnx.export(LINEAR, args, verbose=False), LINEAR, (X,))
    program = torch.onnx.export(LINEAR, kwargs={"input": X}, dynamic_shapes=({0: "row count"},), verbose=False)
    assert described(program.model_proto.graph.input) == {"input": ["row count", 3]}

    class Several(nn.Module):
        def forward(self, x):
            return x + 1, None, x.shape[0]

    program = torch.onnx.export(Several().eval(), (X,), dynamic_shapes=({0: "rows"},), verbose=False)
    found, size = program(torch.ones(6, 3))
    assert described(program.model_proto.graph.output) == {"add": ["rows", 3], "sym_size": []}
    assert torch.equal(found, torch.full((6, 3), 2.0)) and torch.equal(size, torch.tensor(6))


def test_exported_programs_and_own_translations():
    program = torch.export.export(LINEAR, (X,))
    found = torch.onnx.export(program, verbose=False)
    assert found.exported_program is program
    assert_runs_like(found, LINEAR, (X,))
    own = {torch.export.operations.relu: lambda b, value: b.add("LeakyRelu", value, alpha=0.5)}
    found = torch.onnx.export(LINEAR, (X,), custom_translation_table=own, verbose=False)
    assert_runs_like(found, nn.Sequential(LINEAR[0], nn.LeakyReLU(0.5)), (X,))


def test_refusals():
    class Odd(nn.Module):
        def forward(self, x):
            return x + torch.linalg.inv(x[:3])[0]

    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match=r"^Exporting the operator 'aten::inverse'"):
        torch.onnx.export(Odd().eval(), (X,), verbose=False)

    class Deciding(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(
        torch.onnx.OnnxExporterError, match=r"^Failed to export the model with torch\.export\."
    ) as caught:
        torch.onnx.export(Deciding().eval(), (X,), verbose=False)
    assert isinstance(caught.value.__cause__, UserError) and "data-dependent" in str(caught.value)

    class Counting(nn.Module):
        def forward(self, x):
            return x, 3

    with pytest.raises(torch.onnx.OnnxExporterError, match="the model returns 3, which is no tensor"):
        torch.onnx.export(Counting().eval(), (X,), verbose=False)

    class Crossing(nn.Module):
        def forward(self, x):
            y = x.clone()
            y.diagonal().fill_(1)
            return y

    with pytest.raises(
        torch.onnx.errors.UnsupportedOperatorError, match="writes into a part of a tensor that diagonal gave"
    ):
        torch.onnx.export(Crossing().eval(), (X,), verbose=False)
    with pytest.raises(TypeError, match="custom_translation_table should be a single callable, not a sequence"):
        torch.onnx.export(LINEAR, (X,), custom_translation_table={torch.relu: [1]})
    with pytest.raises(NotImplementedError, match="profile=True is not supported"):
        torch.onnx.export(LINEAR, (X,), profile=True)
    with (
        pytest.warns(UserWarning, match="'dynamic_axes' is not recommended"),
        pytest.raises(RuntimeError, match=r"^# Failed to convert 'dynamic_axes' to 'dynamic_shapes'"),
    ):
        torch.onnx.export(LINEAR, (X,), dynamic_axes={"y": {0: "rows"}}, verbose=False)
    with pytest.raises(torch.onnx.OnnxExporterError, match="cannot export function"):
        torch.onnx.export(lambda x: x, (X,), verbose=False)
    with pytest.raises(NotImplementedError, match="register_custom_op_symbolic is not in this version"):
        torch.onnx.register_custom_op_symbolic("a::b", None, 9)


def test_arrays_are_those_of_the_model():
    program = torch.onnx.export(LINEAR, (X,), verbose=False)
    stored = {each.name: onnx.numpy_helper.to_array(each) for each in program.model_proto.graph.initializer}
    for name, tensor in LINEAR.state_dict().items():
        np.testing.assert_array_equal(stored[name], tensor.numpy())

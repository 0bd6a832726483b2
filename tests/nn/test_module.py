"""Module without PyTorch: registration, iteration, state dicts, hooks, copies, and the hints of its errors."""

import copy
import pickle
from collections import OrderedDict

import pytest

import rushlight as rl
from rushlight import nn


class Scale(nn.Module):
    """x -> factor * x, with a buffer that counts calls."""

    def __init__(self, factor=2.0):
        super().__init__()
        self.factor = nn.Parameter(rl.full((1,), factor))
        self.register_buffer("calls", rl.zeros(1))
        self.register_buffer("last", None, persistent=False)

    def forward(self, x):
        self.calls += 1
        return self.factor * x


def test_members_are_filed_by_kind():
    module = Scale()
    module.inner = Scale()
    module.plain = 3
    assert list(module._parameters) == ["factor"]
    assert list(module._buffers) == ["calls", "last"]
    assert list(module._modules) == ["inner"]
    assert module.__dict__["plain"] == 3
    assert "factor" in dir(module) and "inner" in dir(module)
    del module.factor
    with pytest.raises(AttributeError, match="'Scale' object has no attribute 'factor'"):
        module.factor  # noqa: B018


def test_call_runs_forward():
    module = Scale(3.0)
    assert module(rl.ones(2)).tolist() == [3.0, 3.0]
    assert module.calls.item() == 1


def test_direct_writes_into_the_dictionaries_are_seen():
    module = Scale()
    module._parameters["factor"] = nn.Parameter(rl.full((1,), 5.0))
    assert module(rl.ones(1)).item() == 5.0


def test_iteration_finds_each_member_once():
    shared = Scale()
    model = nn.Sequential(shared, nn.Sequential(shared, Scale()))
    assert [name for name, _ in model.named_parameters()] == ["0.factor", "1.1.factor"]
    assert [name for name, _ in model.named_modules()] == ["", "0", "1", "1.1"]
    assert len(list(model.named_parameters(remove_duplicate=False))) == 3
    assert model.get_parameter("1.1.factor") is model[1][1].factor


def test_modules_may_be_replaced_while_walking():
    model = nn.Sequential(nn.Sequential(Scale(), Scale()), Scale())
    for _, module in model.named_modules():
        for name, child in list(module.named_children()):
            if isinstance(child, Scale):
                setattr(module, name, nn.Identity())
    assert not any(isinstance(module, Scale) for module in model.modules())


def test_state_dict_round_trip():
    model, other = nn.Sequential(Scale(2.0)), nn.Sequential(Scale(7.0))
    state = model.state_dict()
    assert isinstance(state, OrderedDict)
    assert list(state) == ["0.factor", "0.calls"]
    assert not state["0.factor"].requires_grad
    assert repr(other.load_state_dict(state)) == "<All keys matched successfully>"
    assert other[0].factor.item() == 2.0
    state["0.factor"].fill_(9.0)
    assert model[0].factor.item() == 9.0, "a state dict shares memory"
    assert other[0].factor.item() == 2.0, "loading copies"


def test_loading_reports_everything_at_once():
    with pytest.raises(RuntimeError) as caught:
        nn.Sequential(Scale()).load_state_dict({"0.factor": rl.zeros(3), "0.cals": rl.zeros(1)})
    lines = str(caught.value).split("\n")
    assert lines[0] == "Error(s) in loading state_dict for Sequential:"
    assert lines[1] == '\tMissing key(s) in state_dict: "0.calls". '
    assert lines[2] == '\tUnexpected key(s) in state_dict: "0.cals". '
    assert "copying a param with shape torch.Size([3]) from checkpoint" in lines[3]
    assert lines[4] == "hint: '0.cals' in the state dict may be what this model calls '0.calls'"


def test_a_wrapper_prefix_is_recognised():
    state = {f"module.{name}": value for name, value in Scale().state_dict().items()}
    with pytest.raises(RuntimeError, match=r"hint: the names begin with 'module\.'"):
        Scale().load_state_dict(state)


def test_init_must_come_first():
    class Early(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(rl.zeros(1))

    with pytest.raises(
        AttributeError, match=r"cannot assign parameters before Module.__init__\(\) call\nhint: .*super"
    ):
        Early()


def test_wrong_members_are_refused_with_a_way_out():
    module = Scale()
    with pytest.raises(TypeError, match=r"(?s)cannot assign 'torch.FloatTensor' as parameter 'factor'.*hint: wrap it"):
        module.factor = rl.zeros(1)
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        module.add_module("x", 3)
    with pytest.raises(KeyError, match="attribute 'forward' already exists"):
        module.register_buffer("forward", None)


def test_modes_reach_every_module():
    model = nn.Sequential(Scale(), nn.Sequential(Scale()))
    assert not any(module.training for module in model.eval().modules())
    assert all(module.training for module in model.train().modules())
    assert not any(parameter.requires_grad for parameter in model.requires_grad_(False).parameters())


def test_casting_keeps_parameters_and_their_gradients_themselves():
    module = Scale()
    module(rl.ones(1)).sum().backward()
    factor, gradient = module.factor, module.factor.grad
    module.double()
    assert module.factor is factor and factor.grad is gradient
    assert factor.dtype == gradient.dtype == module.calls.dtype == rl.float64


def test_forward_hooks_see_and_replace():
    module, seen = Scale(), []
    first = module.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    second = module.register_forward_hook(lambda module, args, output: seen.append(args[0].item()))
    assert module(rl.ones(1)).item() == 4.0
    assert seen == [2.0]
    first.remove()
    second.remove()
    assert module(rl.ones(1)).item() == 2.0


def test_always_called_hooks_run_after_an_error():
    module, seen = nn.Module(), []
    module.register_forward_hook(lambda *args: seen.append(args[-1]), always_call=True)
    with pytest.raises(NotImplementedError, match='missing the required "forward" function'):
        module(1)
    assert seen == [None]


def test_backward_hooks_see_gradients():
    module, seen = Scale(3.0), []
    module.register_full_backward_pre_hook(lambda module, grad_output: seen.append(grad_output[0].item()))
    module.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 10,))
    x = rl.ones(1, requires_grad=True)
    module(x).sum().backward()
    assert seen == [1.0]
    assert x.grad.item() == 30.0


def test_hooks_everywhere():
    seen = []
    everywhere = nn.modules.module
    with everywhere.register_module_forward_hook(lambda module, args, output: seen.append(type(module).__name__)):
        nn.Sequential(Scale())(rl.ones(1))
    nn.Sequential(Scale())(rl.ones(1))
    assert seen == ["Scale", "Sequential"]


def test_copies_and_pickles():
    model = nn.Sequential(Scale(3.0))
    for made in (copy.deepcopy(model), pickle.loads(pickle.dumps(nn.Sequential(nn.ReLU())))):
        assert isinstance(made, nn.Sequential)
    duplicate = copy.deepcopy(model)
    duplicate[0].factor.data.fill_(1.0)
    assert model[0].factor.item() == 3.0


def test_printed_form():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.ReLU(), nn.Flatten())
            self.head = None

        def extra_repr(self):
            return "depth=2\nwidth=3"

    expected = (
        "Net(\n  depth=2\n  width=3\n  (body): Sequential(\n    (0): ReLU()\n"
        "    (1): Flatten(start_dim=1, end_dim=-1)\n  )\n)"
    )
    assert repr(Net()) == expected


def test_parameter_shares_and_prints():
    data = rl.zeros(2)
    parameter = nn.Parameter(data)
    data.fill_(1.0)
    assert repr(parameter) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert type(parameter * 1) is rl.Tensor
    assert type(copy.deepcopy(parameter)) is nn.Parameter
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        nn.Parameter(rl.zeros(2, dtype=rl.int64))


def test_buffers_by_assignment():
    module = nn.Module()
    module.kept = nn.Buffer(rl.zeros(1))
    module.passing = nn.Buffer(rl.zeros(1), persistent=False)
    module.kept = rl.ones(2)
    assert list(module.state_dict()) == ["kept"]
    assert module.kept.tolist() == [1.0, 1.0]


def test_lazy_layer_learns_its_size():
    layer = nn.LazyLinear(3)
    assert repr(layer) == "LazyLinear(in_features=0, out_features=3, bias=True)"
    assert layer(rl.zeros(2, 5)).shape == (2, 3)
    assert type(layer) is nn.Linear and layer.weight.shape == (3, 5)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        nn.LazyLinear(3).weight.shape  # noqa: B018


def test_compile_leaves_the_module_as_it_is():
    module = Scale()
    module.compile(mode="max-autotune")
    assert module._compiled_call_impl is not None and pickle.loads(pickle.dumps(module))._compiled_call_impl is None

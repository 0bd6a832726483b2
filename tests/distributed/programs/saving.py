"""A training that is saved by one number of processes and goes on with another: ``saving.py save|load FOLDER``."""

import sys

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed import checkpoint
from rushlight.distributed.checkpoint import state_dict as states
from rushlight.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
plain = torch.nn.Sequential(torch.nn.Linear(4, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))
torch.manual_seed(0 if sys.argv[1] == "save" else 1)
model = torch.nn.Sequential(torch.nn.Linear(4, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))
fully_shard(model[0])
fully_shard(model)


def step(module, optimizer):
    optimizer.zero_grad()
    module(torch.ones(2, 4)).square().mean().backward()
    optimizer.step()


first, second = (torch.optim.Adam(each.parameters(), lr=0.1) for each in (plain, model))
for _ in range(3):
    step(plain, first)
if sys.argv[1] == "save":
    for _ in range(3):
        step(model, second)
names = ("model", "optimizer")
state = {**dict(zip(names, states.get_state_dict(model, second), strict=True)), "step": 3 * (sys.argv[1] == "save")}
if sys.argv[1] == "save":
    checkpoint.save(state, checkpoint_id=sys.argv[2])
else:
    checkpoint.load(state, checkpoint_id=sys.argv[2])
    states.set_state_dict(model, second, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    step(plain, first)
    step(model, second)
    for name, each in plain.named_parameters():
        found = model.get_parameter(name).full_tensor()
        assert torch.allclose(found, each, atol=1e-6), (name, found, each)
    assert state["step"] == 3
    print("went on", file=sys.stderr)
dist.destroy_process_group()

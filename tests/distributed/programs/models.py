"""Models of the benchmarks, whose gradients in DistributedDataParallel are those of one process with the whole batch: ``models.py COUNT``."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
import networks

import rushlight as torch
import rushlight.distributed as dist

networks.training = lambda torch, model, x, y, optimizer=None, loss_function=None: (model, x, y, loss_function)
import models  # noqa: E402  # after that, so that its steps are made of what they train

nn = torch.nn
dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()


def check(name):
    """Compare the gradients of a model; whether it is one that can be: without batch statistics and random numbers of its own."""
    torch.manual_seed(0)
    made = networks.MODELS[name](torch)
    if not isinstance(made, tuple):
        return False
    model, x, y, loss_function = made
    together = any(isinstance(each, nn.modules.batchnorm._BatchNorm) for each in model.modules())
    if together or not isinstance(x, torch.Tensor) or x.shape[0] % size:
        return False
    loss_function = loss_function or nn.CrossEntropyLoss()
    before = torch.get_rng_state()
    loss_function(model(x), y).backward()
    if not torch.equal(before, torch.get_rng_state()):
        return False
    wanted = [None if each.grad is None else each.grad.clone() for each in model.parameters()]
    model.zero_grad()
    parallel = nn.parallel.DistributedDataParallel(model, find_unused_parameters=any(each is None for each in wanted))
    loss_function(parallel(x.chunk(size)[rank]), y.chunk(size)[rank]).backward()
    for each, gradient in zip(model.parameters(), wanted, strict=True):
        if gradient is not None:
            scale = gradient.abs().max().item() + 1e-6
            assert (each.grad - gradient).abs().max().item() < 2e-4 * scale, (name, each.shape)
    return True


GRAPHS = {name for name, make in models.MODELS.items() if make.__module__ == "graph_models"} | {"graph_convolution"}
names = sorted(set(models.MODELS) - GRAPHS)  # a graph is no batch
random.Random(int(sys.argv[2])).shuffle(names)
checked = []
for name in names:
    if len(checked) < int(sys.argv[1]) and check(name):
        checked.append(name)
print("checked", len(checked), *checked, file=sys.stderr)
dist.destroy_process_group()

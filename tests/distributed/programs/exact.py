"""What PyTorch's gloo does not do, or cannot be compared with: asserted in each process of a job of Rushlight."""

import datetime
import os
import sys
import tempfile

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed import checkpoint, fsdp, optim
from rushlight.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from rushlight.distributed.algorithms.join import Join
from rushlight.distributed.checkpoint import state_dict as states
from rushlight.distributed.fsdp import FullyShardedDataParallel as FSDP
from rushlight.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from rushlight.distributed.tensor.parallel import loss_parallel
from rushlight.nn.parallel import DistributedDataParallel as DDP

nn = torch.nn
dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
SECOND = datetime.timedelta(seconds=1)


def network(*more):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), *more, nn.Tanh(), nn.Linear(8, 2))


def gradients(module, x):
    module(x).square().mean().backward()
    return torch.cat([each.grad.flatten() for each in module.parameters()])


def close(a, b, tolerance=1e-6):
    assert torch.allclose(a, b, atol=tolerance), (a - b).abs().max()


def the_average_of_processes_is_that_of_the_whole_batch():
    whole = torch.randn(6 * size, 4, generator=torch.Generator().manual_seed(1))
    close(gradients(DDP(network()), whole[rank * 6 : rank * 6 + 6]), gradients(network(), whole))


def statistics_of_all_processes():
    whole = torch.randn(6 * size, 4, generator=torch.Generator().manual_seed(1))
    one, all_of_them = (
        network(nn.BatchNorm1d(8)),
        DDP(nn.SyncBatchNorm.convert_sync_batchnorm(network(nn.BatchNorm1d(8)))),
    )
    own = whole[rank * 6 : rank * 6 + 6].clone().requires_grad_()
    close(gradients(all_of_them, own), gradients(one, whole.requires_grad_()))
    close(own.grad / size, whole.grad[rank * 6 : rank * 6 + 6])
    close(all_of_them.module[1].running_var, one[1].running_var)
    close(all_of_them.module[1].running_mean, one[1].running_mean)


def hooks_of_half_precision_and_low_rank():
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(rank))
    exact = gradients(DDP(network()), x)
    for state, hook in (
        (None, default_hooks.bf16_compress_hook),
        (None, default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook)),
        (powerSGD_hook.PowerSGDState(None, 8, 2), powerSGD_hook.batched_powerSGD_hook),
    ):
        module = DDP(network())
        module.register_comm_hook(state, hook)
        for _ in range(4):
            module.zero_grad()
            found = gradients(module, x)
        close(found, exact, 2e-2)
        others = [torch.empty_like(found) for _ in range(size)]
        dist.all_gather(others, found)
        assert all(torch.equal(each, found) for each in others)


def fsdp_policy(module, recurse, nonwrapped_numel):
    return recurse or isinstance(module, nn.Linear)


def fully_sharded_training_is_that_of_the_whole_batch():
    whole = torch.randn(6 * size, 4, generator=torch.Generator().manual_seed(1))
    own = whole[rank * 6 : rank * 6 + 6]
    for strategy in fsdp.ShardingStrategy.FULL_SHARD, fsdp.ShardingStrategy.SHARD_GRAD_OP:
        plain, sharded = network(), FSDP(network(), auto_wrap_policy=fsdp_policy, sharding_strategy=strategy)
        if strategy is fsdp.ShardingStrategy.FULL_SHARD:
            sharded = FSDP(
                nn.Sequential(network()[0], FSDP(nn.Sequential(*network()[1:])))
            )  # by hand, and another tree
        assert (
            sum(each.numel() for each in sharded.parameters())
            < 1 + sum(each.numel() for each in plain.parameters()) * 0.6
            or size == 1
        )
        optimizers = [torch.optim.AdamW(each.parameters(), lr=0.05) for each in (plain, sharded)]
        for _ in range(4):
            losses, norms = [], []
            for module, x, optimizer in zip((plain, sharded), (whole, own), optimizers):
                optimizer.zero_grad()
                loss = module(x).square().mean()
                loss.backward()
                clip = getattr(
                    module, "clip_grad_norm_", lambda limit: nn.utils.clip_grad_norm_(plain.parameters(), limit)
                )
                norms.append(clip(0.05))
                optimizer.step()
                losses.append(loss.detach())
            dist.all_reduce(losses[1], dist.ReduceOp.AVG)
            close(losses[1], losses[0])
            close(norms[1], norms[0])
        state, wanted = sharded.state_dict(), list(plain.state_dict().values())
        assert len(state) == len(wanted)
        for mine, its in zip(state.values(), wanted):
            close(mine, its, 1e-5)


def divided_tensors_are_as_whole_ones():
    mesh = dist.init_device_mesh("cpu", (size,))
    x, w = (torch.randn(s, generator=torch.Generator().manual_seed(len(s))) for s in ((2 * size + 1, 6), (6, 4)))
    calls = [
        lambda a, b: (a @ b).relu().sum(), lambda a, b: (a.softmax(1) @ b).mean(0).norm(), lambda a, b: nn.functional.layer_norm(a, (6,)).amax(),
        lambda a, b: (a + b.sum(1)).exp().log_softmax(0)[:2].sum(), lambda a, b: nn.functional.linear(a, b.T).reshape(-1).square().mean(),
    ]  # fmt: skip
    for call in calls:
        plain = [each.clone().requires_grad_() for each in (x, w)]
        call(*plain).backward()
        for placements in (
            (Shard(0), Replicate()),
            (Shard(1), Shard(0)),
            (Replicate(), Shard(1)),
            (Shard(0), Shard(1)),
        ):
            divided = [
                distribute_tensor(e, mesh, [p]).requires_grad_() for e, p in zip((x, w), placements, strict=True)
            ]
            found = call(*divided)
            close(found.full_tensor(), call(x, w), 1e-5)
            found.backward()
            for mine, its in zip(divided, plain, strict=True):
                assert (mine.grad is None) == (its.grad is None)
                its.grad is None or close(mine.grad.full_tensor(), its.grad, 1e-5)
    parts = DTensor.from_local(torch.full((size, 2), rank + 1.0), mesh, [Partial()])
    assert parts.redistribute(placements=[Shard(0)]).to_local().tolist() == [[size * (size + 1) / 2] * 2]


def a_module_that_is_fully_sharded_trains_as_the_whole():
    whole = torch.randn(6 * size, 4, generator=torch.Generator().manual_seed(1))
    for keep in (None, True, False):
        plain, sharded = network(), network()
        for each in (sharded[0], sharded):
            fsdp.fully_shard(each, reshard_after_forward=keep)
        optimizers = [torch.optim.AdamW(each.parameters(), lr=0.05) for each in (plain, sharded)]
        for _ in range(3):
            for module, x, optimizer in zip(
                (plain, sharded), (whole, whole[rank * 6 : rank * 6 + 6]), optimizers, strict=True
            ):
                optimizer.zero_grad()
                module(x).square().mean().backward()
                nn.utils.clip_grad_norm_(module.parameters(), 0.05)
                optimizer.step()
        found = states.get_model_state_dict(sharded, options=states.StateDictOptions(full_state_dict=True))
        for mine, its in zip(found.values(), plain.state_dict().values(), strict=True):
            close(mine, its, 1e-5)


def states_of_fully_sharded_training_by_names():
    whole = torch.randn(6 * size, 4, generator=torch.Generator().manual_seed(1))
    own, hybrid = whole[rank * 6 : rank * 6 + 6], {}
    if size == 4:
        mesh = dist.init_device_mesh("cpu", (2, 2))
        hybrid = {"device_mesh": mesh, "sharding_strategy": fsdp.ShardingStrategy.HYBRID_SHARD}
    plain, sharded = network(), FSDP(network(), auto_wrap_policy=fsdp_policy, **hybrid)
    optimizers = [torch.optim.AdamW(each.parameters(), lr=0.05) for each in (plain, sharded)]

    def step(model, optimizer, x):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    for _ in range(2):
        step(plain, optimizers[0], whole)
        step(sharded, optimizers[1], own)
    wanted = states.get_optimizer_state_dict(plain, optimizers[0])["state"]
    found = FSDP.optim_state_dict(sharded, optimizers[1])
    assert list(found["state"]) == list(wanted)
    for name, each in wanted.items():
        for key, value in each.items():
            close(found["state"][name][key], value, 1e-5)
    other = FSDP(network(), **hybrid)
    second = torch.optim.AdamW(other.parameters(), lr=0.5)
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder)
    with FSDP.state_dict_type(sharded, fsdp.StateDictType.SHARDED_STATE_DICT):
        state = {"model": sharded.state_dict(), "optimizer": FSDP.optim_state_dict(sharded, optimizers[1])}
        assert all(isinstance(each, DTensor) for each in state["model"].values())
    checkpoint.save(state, checkpoint_id=folder[0])
    checkpoint.load(state, checkpoint_id=folder[0])
    other.load_state_dict(state["model"])
    FSDP.optim_state_dict_to_load(other, second, state["optimizer"], load_directly=True)
    step(plain, optimizers[0], whole)
    step(other, second, own)
    assert FSDP.fsdp_modules(sharded, root_only=True) == [sharded]
    for mine, its in zip(other.state_dict().values(), plain.state_dict().values(), strict=True):
        close(mine, its, 1e-5)


def whole_parameters_come_and_go():
    model = FSDP(network(nn.BatchNorm1d(8)), auto_wrap_policy=fsdp_policy)
    first = next(each for each in model.modules() if isinstance(each, nn.Linear))
    assert "bias=True" in str(first) and first.weight.is_meta  # shapes without numbers, before they come and after
    names = ["0.weight", "0.bias", *("1." + name for name in nn.BatchNorm1d(8).state_dict()), "3.weight", "3.bias"]
    state = model.state_dict()
    assert list(state) == names and state["0.weight"].shape == (8, 4)
    doubled = {name: value * 2 for name, value in state.items()}
    assert not any(model.load_state_dict(doubled))
    close(model.state_dict()["3.weight"], doubled["3.weight"])
    with FSDP.summon_full_params(model):
        assert isinstance(first.weight, nn.Parameter)
        model.module[0].weight.data.fill_(3.0)
    assert first.weight.is_meta and model.state_dict()["0.weight"].unique().tolist() == [3.0]
    with FSDP.state_dict_type(model, fsdp.StateDictType.FULL_STATE_DICT, fsdp.FullStateDictConfig(rank0_only=True)):
        assert len(model.state_dict()) == (len(names) if rank == 0 else 0)
    half = FSDP(network(), mixed_precision=fsdp.MixedPrecision(param_dtype=torch.bfloat16))
    made = half(torch.ones(2, 4))
    made.sum().backward()
    assert made.dtype is torch.bfloat16 and next(half.parameters()).grad.dtype is torch.float32


def complex_numbers_and_integers_that_gloo_does_not_move():
    x, lists = torch.tensor([rank + 1j]), [torch.zeros(1, dtype=torch.complex64) for _ in range(size)]
    dist.gather(x, lists if rank == 0 else None)
    assert rank or [each.item() for each in lists] == [r + 1j for r in range(size)]
    y = torch.tensor([rank, 3], dtype=torch.int16)
    dist.all_reduce(y, dist.ReduceOp.MAX)
    assert y.tolist() == [max(size - 1, 3) if size > 4 else size - 1, 3]


def the_same_numbers_from_run_to_run():
    found = []
    for _ in range(3):
        x = torch.randn(5000, generator=torch.Generator().manual_seed(rank)) * 10.0 ** (rank * 3)
        dist.all_reduce(x)
        found.append(x)
    assert all(torch.equal(each, found[0]) for each in found)


def whoever_comes_late_is_named():
    group = dist.new_group(timeout=SECOND)
    if rank == 0:
        try:
            dist.all_reduce(torch.ones(3), group=group)
        except RuntimeError as error:
            lines = str(error).split("\n")
            assert lines[0] == "Timed out waiting 1000ms for all_reduce operation to complete", lines
            assert f"rank 1 is at {__file__}:" in lines[1] or "rank 1 waits in" in lines[1], lines
            assert f"at {__file__}:" in lines[1].split("rank 1")[0], lines
        else:
            raise AssertionError("no error")
    else:
        sleep_until_rank_0_has_given_up()
        dist.all_reduce(torch.ones(3), group=group)  # rank 0 has begun it, so it ends


def sleep_until_rank_0_has_given_up():
    import time

    time.sleep(2.5)


def monitored_barriers_name_ranks():
    try:
        if rank != 1:
            dist.monitored_barrier(timeout=SECOND)
    except RuntimeError as error:
        text = str(error)
        assert (
            rank != 0 and "successfully reached" in text
        ) or "Ranks 1 failed to pass monitoredBarrier in 1000 ms" in text
    else:
        assert rank == 1


def mismatches_are_told():
    os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
    dist.set_debug_level_from_env()
    group = dist.new_group()
    for acts in (
        lambda: dist.all_reduce(torch.ones(3 + rank), group=group),
        lambda: dist.broadcast(torch.ones(3), 0, group) if rank else dist.all_reduce(torch.ones(3), group=group),
        lambda: dist.all_reduce(torch.ones(3, dtype=torch.float64 if rank else torch.float32), group=group),
    ):
        try:
            acts()
        except RuntimeError as error:
            first, hint = str(error).split("\n")
            assert first.startswith(
                f"Detected mismatch between collectives on ranks. Rank {rank} is running collective: "
            ), first
            assert all(f"rank {each} runs " in hint for each in range(size)) and f"at {__file__}:" in hint
        else:
            raise AssertionError("no error")
    dist.set_debug_level(dist.DebugLevel.OFF)


def losses_of_divided_classes_are_those_of_whole_ones():
    x = torch.randn(2, 2 * size + 1, 2, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    target = torch.arange(12).reshape(2, 2, 3) % (
        2 * size + 1
    )  # PyTorch's gradient of images mixes up rows and columns
    wanted = nn.functional.cross_entropy(x, target)
    wanted.backward()
    parts = distribute_tensor(x.detach(), dist.init_device_mesh("cpu", (size,)), [Shard(1)]).requires_grad_()
    with loss_parallel():
        loss = nn.functional.cross_entropy(parts, target)
        loss.backward()
    assert parts.grad.placements == (Shard(1),)
    close(loss.full_tensor(), wanted)
    close(parts.grad.full_tensor(), x.grad)


def a_module_and_its_optimizer_join():
    module = DDP(network())
    optimizer = optim.ZeroRedundancyOptimizer(module.parameters(), torch.optim.SGD, lr=0.1)
    with Join([module, optimizer]):
        for _ in range(1 + rank):
            module.zero_grad()
            gradients(module, torch.ones(2, 4))
            optimizer.step()
    numbers = torch.cat([each.detach().flatten() for each in module.parameters()])
    found = [torch.empty_like(numbers) for _ in range(size)]
    dist.all_gather(found, numbers)
    assert all(torch.equal(each, numbers) for each in found)


def it_can_begin_again():
    dist.destroy_process_group()
    dist.init_process_group("gloo", rank=size - 1 - rank, world_size=size)
    assert dist.get_rank() == size - 1 - rank
    x = torch.tensor([dist.get_rank()])
    dist.broadcast(x, 0)
    assert x.item() == 0


for _check in [
    each
    for name, each in list(globals().items())
    if getattr(each, "__module__", "") == "__main__" and not each.__code__.co_argcount
]:
    if _check.__name__ not in ("sleep_until_rank_0_has_given_up", "network"):
        _check()
        if _check is not monitored_barriers_name_ranks:
            dist.barrier()
print("held", file=sys.stderr)
dist.destroy_process_group()

"""What PyTorch's gloo does not do, or cannot be compared with: asserted in each process of a job of Rushlight."""

import datetime
import os
import sys

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed import fsdp
from rushlight.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from rushlight.distributed.fsdp import FullyShardedDataParallel as FSDP
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


def whole_parameters_come_and_go():
    model = FSDP(network(nn.BatchNorm1d(8)), auto_wrap_policy=fsdp_policy)
    names = ["0.weight", "0.bias", *("1." + name for name in nn.BatchNorm1d(8).state_dict()), "3.weight", "3.bias"]
    state = model.state_dict()
    assert list(state) == names and state["0.weight"].shape == (8, 4)
    doubled = {name: value * 2 for name, value in state.items()}
    assert not any(model.load_state_dict(doubled))
    close(model.state_dict()["3.weight"], doubled["3.weight"])
    with FSDP.summon_full_params(model):
        model.module[0].weight.data.fill_(3.0)
    assert not hasattr(model.module[0], "weight") and model.state_dict()["0.weight"].unique().tolist() == [3.0]
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

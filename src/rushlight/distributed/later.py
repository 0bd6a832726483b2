"""Names of ``torch.distributed`` for more than one process: programs import them and ask whether something is one; using one refuses."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from ..base.errors import hinted
from .placements import BY_NAME

_FSDP = """BackwardPrefetch CPUOffload CPUOffloadPolicy FSDPModule FullOptimStateDictConfig FullStateDictConfig
    FullyShardedDataParallel LocalOptimStateDictConfig LocalStateDictConfig MixedPrecision MixedPrecisionPolicy OffloadPolicy
    OptimStateDictConfig OptimStateKeyType ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy StateDictConfig
    StateDictSettings StateDictType UnshardHandle fully_shard register_fsdp_forward_method"""
_TENSOR = (
    """DTensor Partial Placement Replicate Shard distribute_module distribute_tensor empty full ones rand randn zeros"""
)
_RPC = """BackendType RRef RpcBackendOptions TensorPipeRpcBackendOptions get_worker_info init_rpc remote rpc_async rpc_sync
    shutdown"""

# Module below torch.distributed -> its names.
_NAMES = {
    "": """BackendConfig DebugLevel FileStore TCPStore DeviceMesh init_device_mesh ProcessGroupGloo
        AllreduceOptions BroadcastOptions ReduceOptions get_debug_level set_debug_level register_rendezvous_handler rendezvous
        record_comm shrink_group split_group""",
    "_composable": "",
    "_composable.fsdp": _FSDP,
    "_functional_collectives": "AsyncCollectiveTensor all_gather_tensor all_reduce all_to_all_single all_to_all_single_autograd permute_tensor wait_tensor",
    "_tensor": _TENSOR,
    "_tensor.device_mesh": "DeviceMesh init_device_mesh",
    "_tensor.experimental": "context_parallel implicit_replication local_map register_sharding",
    "_tools": "",
    "algorithms": "",
    "algorithms._checkpoint": "",
    "algorithms._checkpoint.checkpoint_wrapper": """CheckpointImpl CheckpointWrapper apply_activation_checkpointing
        checkpoint_wrapper offload_wrapper""",
    "algorithms.ddp_comm_hooks": "DDPCommHookType register_ddp_comm_hook default_hooks powerSGD_hook post_localSGD_hook",
    "algorithms.ddp_comm_hooks.default_hooks": """allreduce_hook bf16_compress_hook bf16_compress_wrapper fp16_compress_hook
        fp16_compress_wrapper""",
    "algorithms.ddp_comm_hooks.post_localSGD_hook": "PostLocalSGDState post_localSGD_hook",
    "algorithms.ddp_comm_hooks.powerSGD_hook": "PowerSGDState batched_powerSGD_hook powerSGD_hook",
    "algorithms.join": "Join JoinHook Joinable",
    "algorithms.model_averaging": "",
    "algorithms.model_averaging.averagers": "ModelAverager PeriodicModelAverager",
    "checkpoint": "FileSystemReader FileSystemWriter async_save load load_state_dict save save_state_dict",
    "checkpoint.default_planner": "DefaultLoadPlanner DefaultSavePlanner",
    "checkpoint.format_utils": """BroadcastingTorchSaveReader DynamicMetaLoadPlanner _EmptyStateDictLoadPlanner
        _load_state_dict dcp_to_torch_save torch_save_to_dcp""",
    "checkpoint._consolidate_hf_safetensors": "consolidate_safetensors_files consolidate_safetensors_files_on_every_rank",
    "checkpoint.hf_storage": "HuggingFaceStorageReader HuggingFaceStorageWriter",
    "checkpoint.metadata": "Metadata",
    "checkpoint.optimizer": "load_sharded_optimizer_state_dict",
    "checkpoint.state_dict": """StateDictOptions get_model_state_dict get_optimizer_state_dict get_state_dict
        set_model_state_dict set_optimizer_state_dict set_state_dict""",
    "checkpoint.state_dict_loader": "_load_state_dict load load_state_dict",
    "checkpoint.state_dict_saver": "_save_state_dict async_save save save_state_dict",
    "checkpoint.stateful": "Stateful",
    "device_mesh": "DeviceMesh init_device_mesh",
    "elastic": "",
    "elastic.multiprocessing": "Std start_processes",
    "elastic.multiprocessing.errors": "ChildFailedError ErrorHandler ProcessFailure get_error_handler record",
    "fsdp": _FSDP,
    "fsdp.api": _FSDP,
    "fsdp.fully_sharded_data_parallel": _FSDP,
    "fsdp.sharded_grad_scaler": "ShardedGradScaler",
    "fsdp.wrap": """CustomPolicy ModuleWrapPolicy _or_policy always_wrap_policy enable_wrap lambda_auto_wrap_policy
        size_based_auto_wrap_policy transformer_auto_wrap_policy wrap""",
    "launcher": "",
    "launcher.api": "LaunchConfig elastic_launch launch_agent",
    "optim": "DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer",
    "pipelining": "Pipe PipelineStage Schedule1F1B ScheduleGPipe ScheduleInterleaved1F1B SplitPoint pipe_split pipeline",
    "rpc": _RPC,
    "rpc.api": _RPC,
    "run": "get_args_parser main run",
    "tensor": _TENSOR,
    "tensor._utils": "compute_local_shape_and_global_offset",
    "tensor.device_mesh": "DeviceMesh init_device_mesh",
    "tensor.experimental": "context_parallel implicit_replication local_map register_sharding",
    "tensor.parallel": """ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleInputOutput PrepareModuleOutput
        RowwiseParallel SequenceParallel loss_parallel parallelize_module""",
    "tensor.placement_types": "Partial Placement Replicate Shard _StridedShard",
    "utils": "_sync_module_states",
}


class _Later(type):
    """Classes of which nothing is an instance: to make or look into one refuses."""

    def __call__(cls, *args, **kwargs):
        cls._refuse()

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        cls._refuse()

    def _refuse(cls):
        raise NotImplementedError(
            hinted(
                f"torch.distributed: {cls.__name__} is not in this version",
                "it is for more than one process; Rushlight trains in one, where init_process_group, collectives and "
                "DistributedDataParallel work",
            )
        )


_made: dict[str, type] = dict(BY_NAME)


def names_of(module):
    """``__getattr__`` of a module: the same class for the same name, wherever it is asked for."""
    below = module.removeprefix(__package__).lstrip(".")
    known = frozenset(_NAMES[below].split())

    def __getattr__(name):
        if name not in known:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        if name not in _made:
            _made[name] = _Later(name, (), {"__module__": __package__, "__doc__": f"``{name}``: not in this version."})
        return _made[name]

    return __getattr__


def make_modules():
    """Put the modules that hold such names alone where an import finds them."""
    for below in _NAMES:
        if not below:
            continue
        name = f"{__package__}.{below}"
        module = ModuleType(name, f"``torch.distributed.{below}``: for more than one process, not in this version.")
        module.__spec__ = ModuleSpec(name, None, is_package=True)
        module.__path__, module.__package__ = [], name
        module.__getattr__ = names_of(name)
        sys.modules[name] = module
        parent, _, own = name.rpartition(".")
        setattr(sys.modules[parent], own, module)

"""Hooks that average a bucket as it is, or as numbers of half the width."""

from typing import Any

from ....base.dtypes import bfloat16, float16
from ....futures import Future
from ....nn.parallel.buckets import GradBucket
from ... import collectives
from ...groups import default_group


def averaged(group: Any, tensor: Any) -> Future:
    """A future of ``tensor`` averaged over a group, all processes where it is None, in place."""
    group = default_group() if group is None else group
    tensor.div_(group.size())
    return collectives.all_reduce(tensor, group=group, async_op=True).get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """What a DistributedDataParallel does without a hook: the average of the bucket."""
    return averaged(process_group, bucket.buffer())


def _compressed(dtype: Any, process_group: Any, bucket: GradBucket) -> Future:
    buffer = bucket.buffer()
    return averaged(process_group, buffer.to(dtype)).then(lambda done: buffer.copy_(done.value()))


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The average, computed and sent as float16."""
    return _compressed(float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The average, computed and sent as bfloat16."""
    return _compressed(bfloat16, process_group, bucket)


def _wrapper(dtype: Any, hook: Any) -> Any:
    def wrapped(state: Any, bucket: GradBucket) -> Future:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))

        def widened(done: Any) -> Any:
            value = done.value()
            bucket.set_buffer(buffer)
            return buffer.copy_(value[0] if isinstance(value, list) else value)

        return hook(state, bucket).then(widened)

    return wrapped


def fp16_compress_wrapper(hook: Any) -> Any:
    """A hook like ``hook``, which is given the bucket as float16."""
    return _wrapper(float16, hook)


def bf16_compress_wrapper(hook: Any) -> Any:
    """A hook like ``hook``, which is given the bucket as bfloat16."""
    return _wrapper(bfloat16, hook)

"""What expressions are, as a type checker must see them: read by the tests of typing, never run."""

from typing import assert_type

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, linalg, nn, optim, return_types, special
from rushlight.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset, random_split

x = torch.zeros(2, 3)
assert_type(x, Tensor)
assert_type(x + 1, Tensor)
assert_type(1 - x, Tensor)
assert_type(x @ x.T, Tensor)
assert_type(x == 0, Tensor)
assert_type(x[0, :, None], Tensor)
assert_type(x.shape, torch.Size)
assert_type(x.shape[0], int)
assert_type(x.shape[1:], torch.Size)
assert_type(x.size(), torch.Size)
assert_type(x.size(0), int)
assert_type(x.dtype, torch.dtype)
assert_type(torch.float32, torch.dtype)
assert_type(torch.float32.itemsize, int)
assert_type(x.device, torch.device)
assert_type(x.item(), int | float | bool)
assert_type(x.requires_grad, bool)
assert_type(x.grad, Tensor | None)
assert_type(x.max(), Tensor)
assert_type(x.max(1), return_types.max)
assert_type(x.max(1).values, Tensor)
assert_type(torch.max(x, x), Tensor)
assert_type(x.sort(dim=0, descending=True), return_types.sort)
assert_type(torch.topk(x, 2), return_types.topk)
assert_type(x.split(1), tuple[Tensor, ...])
assert_type(x.chunk(2, dim=1), tuple[Tensor, ...])
assert_type(torch.where(x > 0, x, 0.0), Tensor)
assert_type(torch.where(x > 0), tuple[Tensor, ...])
assert_type(x.nonzero(), Tensor)
assert_type(x.nonzero(as_tuple=True), tuple[Tensor, ...])
assert_type(x.view(-1), Tensor)
assert_type(x.view(torch.int32), Tensor)
assert_type(x.permute(1, 0), Tensor)
assert_type(x.permute((1, 0)), Tensor)
assert_type(x.to(torch.float64), Tensor)
assert_type(x.to("cpu", non_blocking=True), Tensor)
assert_type(x.add_(1, alpha=2), Tensor)
assert_type(x.is_contiguous(), bool)
assert_type(torch.equal(x, x), bool)
assert_type(torch.allclose(x, x), bool)
assert_type(torch.is_tensor(x), bool)
assert_type(torch.numel(x), int)
assert_type(torch.arange(3), Tensor)
assert_type(torch.arange(0, 3, 0.5, dtype=torch.float64), Tensor)
assert_type(torch.randint(0, 3, (2,)), Tensor)
assert_type(torch.std(x, dim=0), Tensor)
assert_type(torch.var_mean(x, 0), tuple[Tensor, Tensor])
assert_type(torch.manual_seed(0), torch.Generator)
assert_type(torch.is_grad_enabled(), bool)
assert_type(torch.get_default_dtype(), torch.dtype)
assert_type(torch.result_type(x, 1), torch.dtype)
assert_type(linalg.svd(x), return_types.linalg_svd)
assert_type(linalg.svd(x).Vh, Tensor)
assert_type(special.erf(x), Tensor)
assert_type(F.relu(x), Tensor)
assert_type(F.max_pool1d(x, 2), Tensor)
assert_type(F.max_pool1d(x, 2, return_indices=True), tuple[Tensor, Tensor])
assert_type(F.scaled_dot_product_attention(x, x, x, is_causal=True), Tensor)

layer = nn.Linear(3, 4)
assert_type(layer.weight, nn.Parameter)
assert_type(layer.in_features, int)
assert_type(layer.train(), nn.Linear)
assert_type(layer.to(torch.float64), nn.Linear)
assert_type(layer.eval().requires_grad_(False), nn.Linear)
assert_type(list(layer.parameters()), list[nn.Parameter])
assert_type(nn.utils.clip_grad_norm_(layer.parameters(), 1.0), Tensor)

optimizer = optim.SGD(layer.parameters(), lr=0.1, momentum=0.9, nesterov=True)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=3)

data = TensorDataset(x, x)
assert_type(data[0], tuple[Tensor, ...])
assert_type(len(data), int)
assert_type(random_split(data, [1, 1]), list[Subset[tuple[Tensor, ...]]])
assert_type(data + data, ConcatDataset[tuple[Tensor, ...]])
loader = DataLoader(data, batch_size=2)
assert_type(loader, DataLoader[tuple[Tensor, ...]])
assert_type(len(loader), int)
assert_type(loader.dataset, Dataset[tuple[Tensor, ...]])


@torch.no_grad()
def halved(value: Tensor) -> Tensor:
    return value / 2


@torch.inference_mode()
def doubled(value: Tensor) -> Tensor:
    return value * 2


assert_type(halved(x), Tensor)
assert_type(doubled(x), Tensor)

"""Calls on nested tensors, run with both libraries: what they print has to be the same, and the errors' first lines."""

import re
import warnings


def names(module, code):
    """The tensors that a call is about, made anew."""
    ns = module.nested
    a, b = module.arange(6.0).reshape(2, 3), module.arange(9.0).reshape(3, 3) - 4
    offsets = module.tensor([0, 2, 5])

    def jagged(values, **options):
        return ns.nested_tensor_from_jagged(values, offsets, min_seqlen=2, max_seqlen=3, **options)

    def back(leaf, result):
        """The gradient of a leaf where each element of a result counts by its number."""
        result = result.values() if result.is_nested else result
        weights = module.arange(float(result.numel())).reshape(result.shape) + 1
        grad = module.autograd.grad((result * weights).sum(), leaf)[0]
        return grad.values().contiguous() if grad.is_nested else grad

    made = {
        "a": lambda: a, "b": lambda: b, "offsets": lambda: offsets, "J": lambda: module.jagged,
        "v": lambda: module.arange(15.0).reshape(5, 3) - 4,
        "n": lambda: jagged(module.cat([a, b])),
        "N": lambda: jagged(module.cat([a, b])).requires_grad_(),
        "m": lambda: jagged(module.cat([a, b]) % 4 + 1),
        "w": lambda: module.arange(12.0).reshape(4, 3).requires_grad_(),
        "four": lambda: jagged(module.arange(60.0).reshape(5, 2, 6) / 10 - 2),
        "holes": lambda: ns.nested_tensor_from_jagged(
            module.arange(12.0).reshape(6, 2), module.tensor([0, 2, 6]), module.tensor([1, 3])
        ),
        "s": lambda: ns.nested_tensor([a, b]),
        "S": lambda: ns.nested_tensor([a, b], requires_grad=True),
        "p": lambda: ns.nested_tensor([module.ones(2, 3), module.arange(6.0).reshape(3, 2)]),
        "x": lambda: ns.nested_tensor(
            [module.arange(24.0).reshape(2, 3, 4) / 9, module.arange(16.0).reshape(2, 2, 4) / 9]
        ),
    }  # fmt: skip
    found = {"torch": module, "F": module.nn.functional, "ns": ns, "back": back}
    return found | {name: make() for name, make in made.items() if re.search(rf"\b{name}\b", code)}


def outcome(module, code):
    """What a call gives, as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's, once: that the API is a prototype
        try:
            return numbered(text(eval(code, names(module, code))))
        except Exception as error:
            return numbered(f"{type(error).__name__}: {first_line(error)}")


def text(value):
    if isinstance(value, (tuple, list)) and not hasattr(value, "numel"):
        return "\n".join(map(text, value))
    if hasattr(value, "is_nested") and value.is_nested and "strided" not in str(value.layout):
        return f"{value!r}\n{value.values().detach()!r}"
    return repr(value)


def numbered(found):
    """A text with the symbols of ragged lengths numbered as they come, and no addresses."""
    seen = {}
    found = re.sub(r" object at 0x[0-9a-f]+", "", found)
    return re.sub(r"\bj(\d+)\b", lambda match: f"j{seen.setdefault(match[1], len(seen))}", found)


def first_line(error):
    """The first line of a message; of those about backends, what comes before the list of PyTorch's backends."""
    line = (str(error).splitlines() or [""])[0].split(" (Triggered internally")[0].rstrip()
    return line.partition("possible resolutions.")[0]


CREATION = """
ns.nested_tensor([a, b], layout=J)
ns.nested_tensor([a, b], layout=J, requires_grad=True)
ns.nested_tensor([a, b], layout=J, dtype=torch.float64)
ns.nested_tensor([[1, 2], [3]], layout=J)
ns.nested_tensor([a.t(), b.t()], layout=J)
ns.nested_tensor([a, a], layout=J)
ns.nested_tensor([a.requires_grad_(), b], layout=J)
ns.nested_tensor([], layout=J)
ns.nested_tensor([torch.tensor(1.0)], layout=J)
ns.nested_tensor([a, b.double()], layout=J)
ns.nested_tensor([a, b[0]], layout=J)
ns.nested_tensor([torch.ones(2, 3), torch.ones(3, 2)], layout=J)
ns.nested_tensor([a], layout=torch.sparse_coo)
ns.as_nested_tensor([a, b], layout=J)
ns.as_nested_tensor((a.requires_grad_(), b), layout=J)
ns.as_nested_tensor(torch.arange(12).reshape(2, 2, 3), layout=J)
ns.as_nested_tensor(torch.arange(3), layout=J)
ns.as_nested_tensor(n, layout=J) is n
ns.as_nested_tensor(n, layout=J, dtype=torch.float64)
ns.as_nested_tensor(n)
ns.as_nested_tensor(3, layout=J)
ns.as_nested_tensor([a, 3], layout=J)
ns.as_nested_tensor([a], layout=torch.sparse_coo)
ns.nested_tensor_from_jagged(v, offsets)
ns.nested_tensor_from_jagged(v, offsets).to_padded_tensor(0.0)
ns.nested_tensor_from_jagged(v, lengths=torch.tensor([2, 3]))
ns.nested_tensor_from_jagged(v.t(), offsets, jagged_dim=2)
ns.nested_tensor_from_jagged(v)
ns.nested_tensor_from_jagged(v, offsets, jagged_dim=0)
ns.nested_tensor_from_jagged(v, offsets, torch.tensor([1, 1, 1]))
ns.nested_tensor_from_jagged(v, offsets[None])
ns.nested_tensor_from_jagged(n, offsets)
ns.nested_tensor_from_jagged(v.requires_grad_(), offsets)
holes, holes.offsets(), holes.lengths(), holes.numel()
holes.unbind()
holes.to_padded_tensor(0.0)
holes.contiguous()
holes.clone()
holes.is_contiguous()
ns.narrow(torch.arange(12.0).reshape(2, 3, 2), 1, 0, 2, layout=J)
ns.narrow(torch.arange(12.0).reshape(2, 3, 2), 1, torch.tensor([0, 1]), torch.tensor([3, 1]), layout=J)
ns.narrow(torch.arange(12.0).reshape(2, 3, 2), 1, torch.tensor([0, 1]), torch.tensor([3, 1]), layout=J).unbind()
ns.narrow(torch.arange(12.0).reshape(2, 3, 2), 2, 0, 2, layout=J)
ns.narrow(torch.arange(12.0).reshape(2, 3, 2), 1, 0, torch.tensor([1, 2, 3]), layout=J)
ns.narrow(torch.arange(12.0).reshape(2, 3, 2), 1, 0.5, 2, layout=J)
ns.narrow(torch.arange(12.0).reshape(2, 3, 2), 1, 0, 2, layout=torch.sparse_coo)
ns.narrow(torch.arange(12.0).reshape(2, 3, 2), 1, 0, torch.tensor(2))
ns.masked_select(a, a > 2)
ns.masked_select(a, torch.tensor([True, False, True]))
ns.masked_select(n, n > 2)
"""

ATTRIBUTES = """
n.shape, n.size(), n.size(0), n.size(1), n.size(-1), n.dim(), n.ndim, n.layout, n.dtype, n.device, n.is_nested
n.size(5)
n.numel(), n.stride(), n.stride(1), n.storage_offset(), n.element_size(), n.nbytes, n.is_contiguous()
n.values(), n.offsets(), n.lengths()
N.values(), N.is_leaf, N.requires_grad, N.grad_fn
n.shape[1] == n.shape[1], n.shape[1] == 3, n.shape[1] * 2, 2 * n.shape[1], n.shape[1] >= 2
n.shape[1] > 7
n.shape == m.shape, n.shape == four.shape
len(n), list(n), n.unbind()
N.unbind()
n.unbind(1)
n[0], n[-1], n[1, 2], n[1, 1:]
N[0], N[0, 1]
n[5]
n[:, 0]
n[0:1]
n[..., 0]
n[:, :, 1]
n[:, :, 1:]
n[..., 1:]
n[n > 1]
n[None]
n.numpy()
n.tolist()
n.item()
bool(n)
n.T
n.mT
n.to_dense()
n.detach(), n.data, N.detach()
n.clone(), N.clone()
n.to(torch.float64), n.double(), n.half(), n.int(), n.to("cpu") is n, n.float() is n
n.contiguous() is n, n.transpose(1, 2).contiguous()
n.transpose(1, 2).is_contiguous(), n.transpose(1, 2).stride()
n.is_floating_point(), n.is_complex(), n.is_cpu, n.requires_grad_().requires_grad
torch.is_tensor(n), isinstance(n, torch.Tensor), n.is_sparse
torch.allclose(n, n)
a.offsets()
a.to_padded_tensor(0.0)
a.is_nested
"""

ELEMENTWISE = """
n.sin(), N.sin(), n.relu(), n.exp(), n.abs(), n.neg(), n.sigmoid(), n.isnan(), n.logical_not()
F.silu(n), F.leaky_relu(n), F.elu(n), F.softplus(n), F.hardtanh(n), F.relu6(n)
torch.sqrt(n.abs()), n.clamp(0, 2), n.round(), n.pow(2), n ** 2, 2 ** n
n + 1, 1 + n, n - 1, 1 - n, n * 2, n / 2, n % 2, -n, n > 1, n == 1, n != 1
n + n, n * m, n - m, n / m, torch.maximum(n, m), torch.atan2(n, m), n == m
N + N, N * m, N / m
n + torch.arange(3.0), torch.arange(3.0) * n, n + torch.tensor(2.0), n * torch.ones(1, 1, 3)
n + torch.arange(6.0).reshape(2, 1, 3), torch.arange(6.0).reshape(2, 1, 3) - n
n + torch.arange(18.0).reshape(2, 3, 3)
n + torch.arange(12.0).reshape(2, 2, 3)
n // 2
F.logsigmoid(n)
F.hardswish(n)
n + torch.ones(1, 2, 1, 3)
n + torch.ones(3, 1, 3)
n + torch.ones(5, 3)
n + four
n + ns.nested_tensor([a, b], layout=J)
torch.maximum(n, ns.nested_tensor([a, b], layout=J))
torch.pow(m, ns.nested_tensor([a, b], layout=J))
n.add(m, alpha=2), torch.lerp(n, m, 0.5)
torch.addcmul(n, n, n)
n.masked_fill(n > 1, 0.0)
torch.where(n > 1, n, m), torch.where(n > 1, n, torch.tensor(0.0)), torch.where(n > 1, n, 0.0)
torch.where(a > 1, n, n)
n.add_(1), n.mul_(m), n.fill_(2.0), n.zero_()
n.clone().sin_(), n.clone().relu_(), n.clone().clamp_(0, 1)
torch.zeros_like(n), torch.ones_like(n), torch.full_like(n, 2.0), torch.zeros_like(n, dtype=torch.int64)
torch.empty_like(n).shape == n.shape, torch.zeros_like(N).requires_grad
(torch.manual_seed(0), torch.rand_like(n), torch.randn_like(n), torch.randint_like(n, 5))[1:]
n.new_zeros(())
n.new_zeros(2)
n.clone().copy_(m)
n.clone().copy_(ns.nested_tensor([a * 2, b], layout=J))
n.clone().copy_(ns.nested_tensor([b, a], layout=J))
n.frexp()
F.dropout(n, 0.5, False)
(torch.manual_seed(0), F.dropout(n, 0.5))[1]
F.dropout(n, 0.0), F.dropout(n, 1.0)
F.dropout(n.transpose(1, 2), 0.5)
n.bernoulli()
n.cumsum(1)
n.sort(2)
n.topk(1)
n.std()
n.var(2)
n.norm()
n.flip(0)
n.roll(1)
n.tril()
n.median()
n.erf(), n.log1p(), n.sgn(), n.reciprocal(), torch.special.expit(n)
n.float_power(2)
torch.square(n), F.mish(n), F.tanhshrink(n), F.softsign(n), F.selu(n), F.celu(n)
"""

REDUCTIONS = """
n.sum(), n.mean(), n.max(), n.min(), n.any(), n.all(), n.prod()
N.sum(), N.mean(), N.max()
n.sum(1), n.sum(2), n.sum(-1), n.sum(2, keepdim=True), n.sum(1, keepdim=True), n.sum((0, 1)), n.sum((0, 1), keepdim=True)
n.sum(0)
n.sum((1, 2))
n.sum((0, 2))
n.sum((0, 1, 2)), n.sum(dim=2, dtype=torch.float64)
n.mean(1), n.mean(2), n.mean(1, keepdim=True), n.mean((0, 1))
n.mean(0)
n.mean((1, 2))
N.sum(1), N.mean(1), N.sum(2), N.mean(2)
n.amax(1), n.amax(2), n.amin(1), n.amin(2), n.amax((0, 1)), n.amax(2, keepdim=True)
n.max(1), n.max(2), n.min(1), n.min(2)
n.argmax(1), n.argmax(2), n.argmin(1), n.argmax()
n.int().amax(1), n.int().amin(1), n.int().max(1)
n.prod(1), n.prod(2)
(n > 0).any(1), (n > 0).any(2), (n > 0).all(1), (n > 0).all(2), (n > 0).any((0, 1)), (n > 0).any()
four.sum(2), four.sum((2, 3)), four.mean(3), four.sum(1), four.transpose(1, 2).sum(1), four.transpose(1, 2).sum(2)
holes.sum(), holes.sum(2)
holes.sum(1)
n.softmax(1), n.softmax(2), n.softmax(-1), F.softmax(n, dim=1), four.softmax(1), four.softmax(2)
n.softmax(0)
n.transpose(1, 2).softmax(2)
holes.softmax(1)
n.log_softmax(2), F.log_softmax(n, dim=-1)
n.log_softmax(1)
n.log_softmax(0)
n.to_padded_tensor(0.0), n.to_padded_tensor(-1.5), n.to_padded_tensor(0.0, (2, 5, 3)), n.transpose(1, 2).to_padded_tensor(0.0)
ns.to_padded_tensor(n, 1.0), four.to_padded_tensor(0.0), n.int().to_padded_tensor(7), (n > 0).to_padded_tensor(True)
N.to_padded_tensor(0.0)
n.to_padded_tensor(0.0, (2, 2, 3))
"""

SHAPES = """
n.transpose(1, 2), n.transpose(1, 2).unbind(), four.transpose(2, 3), four.transpose(1, 2), four.transpose(1, 3)
n.transpose(0, 1)
n.transpose(0, 2)
n.permute(0, 2, 1), four.permute(0, 3, 1, 2)
n.permute(1, 0, 2)
n.permute(0, 1)
n.permute(0, 1, 1)
n.unsqueeze(1), n.unsqueeze(2), n.unsqueeze(-1)
n.unsqueeze(0)
n.unsqueeze(-1).squeeze(-1), n.squeeze(2)
n.squeeze(1)
n.squeeze(0)
n.squeeze()
n.view(2, -1, 3, 1), n.view(2, -1, 1, 3), n.reshape(2, -1, 3, 1), four.view(2, -1, 12), four.reshape(2, -1, 3, 4)
n.view(n.shape), n.view(2, n.size(1), 3, 1)
n.view(-1, 3)
n.reshape(6, 1, 3)
n.view(2, 3, 3)
n.transpose(1, 2).view(2, 3, -1)
four.flatten(2), four.flatten(-2, -1), four.flatten(2, 2) is four
n.flatten(1)
n.flatten()
four.unflatten(-1, (2, 3)), four.unflatten(3, [3, -1])
n.expand(2, -1, 3), n.unsqueeze(-1).expand(2, -1, 3, 4)
n.expand(3, -1, 3)
n.chunk(3, -1), n.chunk(2, 2), four.chunk(2, -1), n.chunk(2, 0), n.chunk(1)
n.chunk(2, 1)
N.chunk(3, -1)
n.split(2, -1), n.split([1, 2], 2), four.split(3, 3)
n.split(1, 1)
n.split([1, 1])
n.narrow(2, 1, 2)
n.narrow(1, 0, 1)
n.transpose(1, 2).chunk(3, 1)
n.select(2, 1), four.select(2, 0), four.transpose(1, 2).select(1, 0)
n.select(1, 0)
holes.select(2, 0)
torch.cat([n, m], -1), torch.cat([n, torch.ones(3)], 2)
torch.cat([n, m])
torch.cat([n, m], 1)
torch.stack([n, m], 2), torch.stack([n, m], -1)
torch.stack([n, m])
torch.stack([n, ns.nested_tensor([a, b], layout=J)], 2)
torch.stack([n, a], 2)
n.masked_select(n > 1)
ns.nested_tensor([a[0], b[:, 0][:2]], layout=J).masked_select(ns.nested_tensor([a[0], b[:, 0][:2]], layout=J) > 1)
(lambda x: x.masked_select(x > 1))(ns.nested_tensor([a[0], b[0, :2]], layout=J))
n.broadcast_to(n.shape)
n.movedim(1, 2)
n.swapaxes(1, 2)
n.repeat(1, 1, 2)
n.unfold(2, 2, 1)
"""

LAYERS = """
F.linear(n, w), F.linear(n, w, torch.ones(4)), F.linear(four, torch.ones(2, 6))
F.linear(n, w.detach()), torch.nn.functional.linear(N, w)
F.linear(n.transpose(1, 2), w)
F.linear(holes, torch.ones(3, 2))
F.linear(a, n)
F.linear(n, torch.ones(4, 5))
n @ torch.ones(3, 4), four @ torch.ones(6, 2), torch.ones(4, 3) @ n.transpose(1, 2)
n @ torch.arange(12.0).reshape(2, 3, 2), torch.arange(12.0).reshape(2, 2, 3) @ n.transpose(1, 2)
torch.bmm(n, torch.arange(12.0).reshape(2, 3, 2)), torch.matmul(n.transpose(1, 2), n), four @ four.transpose(2, 3)
N @ torch.ones(3, 4)
n @ n
n @ n.transpose(1, 2)
n @ torch.ones(3)
torch.bmm(four, four)
F.layer_norm(n, (3,)), F.layer_norm(n, (3,), torch.ones(3) * 2, torch.ones(3)), F.layer_norm(four, (2, 6)), F.layer_norm(four, (6,))
F.layer_norm(N, (3,))
F.layer_norm(n, n.shape[1:])
F.layer_norm(ns.nested_tensor([a[0], b[0, :2]], layout=J), (3,))
F.rms_norm(n, (3,)), F.rms_norm(four, (2, 6)), F.rms_norm(n, (3,), torch.ones(3) * 2)
F.rms_norm(n, (2, 3))
F.embedding(ns.nested_tensor([[1, 2], [3, 0, 1]], layout=J), w), F.embedding(ns.nested_tensor([[1, 2], [3, 0, 1]], layout=J), w, padding_idx=1)
torch.nn.Sequential(torch.nn.ReLU(), torch.nn.LayerNorm(3))(n)
F.scaled_dot_product_attention(*[four.transpose(1, 2)] * 3)
F.scaled_dot_product_attention(*[four.transpose(1, 2)] * 3, scale=0.3)
F.scaled_dot_product_attention(*[four.transpose(1, 2)] * 3).transpose(1, 2).reshape(2, -1, 12)
F.scaled_dot_product_attention(*[four] * 3)
F.scaled_dot_product_attention(four.transpose(1, 2), four.transpose(1, 2), four.transpose(1, 2), attn_mask=torch.ones(3, 3))
F.scaled_dot_product_attention(four.transpose(1, 2), a, a)
F.scaled_dot_product_attention(four.transpose(1, 2), four.double().transpose(1, 2), four.transpose(1, 2))
F.scaled_dot_product_attention(four.transpose(1, 2), four, four)
(torch.manual_seed(0), F.scaled_dot_product_attention(*[four.double().transpose(1, 2)] * 3, dropout_p=0.5))[1]
"""

GRADIENTS = """
back(N, N.sin()), back(N, N * m), back(N, N / m), back(N, N + torch.ones(3))
back(N, N.mean()), back(N, N.sum()), back(N, N.max()), back(N, N.amax(2))
back(N, N.transpose(1, 2)), back(N, N.unsqueeze(-1)), back(N, N.view(2, -1, 1, 3)), back(N, N.chunk(3, -1)[1])
back(N, N.unbind()[1]), back(N, N[0]), back(N, N[1, 2])
back(N, F.linear(N, w)), back(w, F.linear(n, w)), back(N, N @ torch.arange(12.0).reshape(3, 4))
back(N, F.layer_norm(N.double() ** 2, (3,))), back(N, F.rms_norm(N, (3,))), back(N, N.clone())
back(N, torch.cat([N, m], -1)), back(N, N.double()), back(N, N.values())
back(N, N @ torch.arange(12.0).reshape(2, 3, 2))
back(N, torch.matmul(N.transpose(1, 2), n))
back(w, F.embedding(ns.nested_tensor([[1, 2], [3, 0, 1]], layout=J), w))
back(v.requires_grad_(), ns.nested_tensor_from_jagged(v.requires_grad_(), offsets, max_seqlen=3).sin())
(lambda x: back(x, F.scaled_dot_product_attention(*[x.transpose(1, 2)] * 3).transpose(1, 2)))(four.double().requires_grad_())
(lambda x: back(x, ns.as_nested_tensor([x, b], layout=J) * 2))(a.requires_grad_())
N.sin().backward()
N.sin().backward(m), N.grad
torch.autograd.grad(N.sin(), N, m)
(N.sum().backward(), N.grad, N.grad.layout)[1:]
torch.autograd.grad(N.sin(), N, torch.ones(2, 3, 3))
"""

STRIDED = """
s
s.values()
s.sin()
s.relu()
s.unbind()
s.to_padded_tensor(0.)
s+1
s*s
s.clone()
s.transpose(1,2)
s.transpose(1,2).relu()
s.transpose(1,2).contiguous()
s.transpose(0,1)
s.sum()
s.sum(-1)
s.sum(1)
s.sum(-1,keepdim=True)
s.mean(-1)
s.mean()
s[0]
s[:,0]
s[...,0]
s[0,1]
s[-1]
s[5]
len(s)
s[0:1]
s.numel()
s.stride()
s.storage_offset()
s.numpy()
s.tolist()
s.item()
s.is_contiguous()
s.cumsum(1)
s.reshape(2,-1,3,1)
s.view(2,-1,3,1)
s.view(2,-1,1,3)
s.reshape(2,-1,3)
s.flatten(1)
s.std()
s.norm()
s.unsqueeze(0)
s.unsqueeze(-1)
s.squeeze()
s.squeeze(1)
s@torch.ones(3,2)
s.matmul(s)
s.matmul(s.transpose(1,2))
torch.bmm(s,s.transpose(1,2))
torch.stack([s,s])
torch.cat([s,s])
s.chunk(2,0)
s.chunk(3,-1)
s.chunk(1,-1)
s.split(1,-1)
s.detach()
s.data
s.grad_fn
s.is_leaf
s.layout
s.shape
s.size()
s.size(0)
s.size(1)
s.size(2)
s.size(-1)
s.size(5)
s.dim()
s.ndim
s.is_nested
s._nested_tensor_size()
s._nested_tensor_strides()
s._nested_tensor_storage_offsets()
torch.equal(s,s)
s==s
s==1
torch.allclose(s,s)
s.double()
s.to(torch.float64)
s.half()
s.to("cpu") is s
s.contiguous() is s
bool(s)
s.T
s.mT
s.add_(1)
s.detach().add_(1)
s.detach().mul_(2)
torch.zeros_like(s)
torch.ones_like(s)
torch.empty_like(s).fill_(2)
s.isnan()
s.any()
s.max()
s.amax(2)
s.softmax(-1)
s.softmax(1)
s.softmax(0)
s.log_softmax(-1)
F.linear(s,torch.ones(2,3),torch.ones(2))
F.layer_norm(s,(3,),torch.ones(3),torch.ones(3))
F.layer_norm(s,(3,))
F.rms_norm(s,(3,))
F.dropout(s,0.5,False)
F.silu(s)
s.tanh()
s.sgn()
s.abs()
s.cos()
s.exp()
s.neg()
-s
s-s
s/s
s/2
s*torch.ones(3)
s*torch.ones(2,1,3)
s+torch.ones(3)
s+torch.ones(1)
s+torch.tensor(1.)
s+torch.ones(2,1,1)
s+torch.ones(2,1,3)
s*torch.ones(2,1,1)
torch.where(s>1,s,s)
s>1
s>=1
s.masked_fill(s.detach()==1,2)
s.logical_not()
~(s==1)
s.sqrt()
s.pow(2)
s**2
s.select(1,0)
s.select(0,0)
s.narrow(0,0,1)
s.permute(0,2,1)
s.int()
s.bool()
s.new_zeros(2)
s.expand(2,-1,3)
s.unflatten(-1,[3,1])
list(s)
s.to_dense()
F.embedding(ns.nested_tensor([torch.tensor([0,1]),torch.tensor([2])]),torch.ones(3,2))
ns.nested_tensor([])
ns.nested_tensor([[1,2],[3]])
ns.nested_tensor([torch.tensor(1.),torch.tensor(2.)])
ns.nested_tensor([a,torch.ones(2)])
ns.nested_tensor([torch.ones(2),torch.ones(3).double()])
ns.nested_tensor([torch.ones(2,3),torch.ones(3,2)])
ns.nested_tensor([torch.ones(2,3),torch.ones(3,2)]).to_padded_tensor(5,(2,3,4))
ns.nested_tensor([torch.ones(2,3),torch.ones(3,2)]).to_padded_tensor(5,(2,2,2))
ns.nested_tensor(3)
ns.nested_tensor([a],layout=torch.sparse_coo)
ns.as_nested_tensor(a)
ns.as_nested_tensor(torch.ones(2,2,2))
ns.as_nested_tensor([a,b])
ns.as_nested_tensor(s)
ns.as_nested_tensor(3)
ns.narrow(torch.ones(2,3),1,0,2)
ns.narrow(torch.ones(2,3),0,0,1)
ns.as_nested_tensor(s,layout=torch.jagged)
s.is_floating_point()
s.nbytes
s.element_size()
s.data_ptr()!=0
s.untyped_storage().nbytes()
repr(s.detach().int())
s.copy_(s)
s.detach().copy_(s.detach()*2)
s.new_empty(())
s.requires_grad_(True).is_leaf
s.float() is s
s.zero_()
s.detach().zero_()
F.scaled_dot_product_attention(s,s,s)
s.sum(2)
s.prod()
s.is_same_size(s)
s.fill_(2)
s.masked_fill(s.detach()>1,0.)
s.cuda()
s.view(3,2)
s.detach().view(torch.int32)
s.erf()
s.reshape(2,-1,1,3).shape
s.reshape(-1,3)
s.reshape(2,3,3)
s.transpose(-1,-2).is_contiguous()
s.masked_select(s>1)
s+p
s*torch.ones(5,3)
s+torch.ones(2,3,3)
s.transpose(1,2)+1
s.transpose(1,2)+s.transpose(1,2)
s+s.transpose(1,2)
s*torch.ones(1)
torch.ones(1)*s
torch.ones(3)*s
1-s
1+s
2*s
2/s
1/s
p.sum(-1,keepdim=True)
p.softmax(-1)
p.sin()
F.linear(p,torch.ones(2,3))
F.linear(s,torch.ones(2,4))
F.linear(s.transpose(1,2),torch.ones(2,3))
F.linear(s,torch.ones(3))
F.linear(S,torch.ones(2,3)).sum(-1,keepdim=True)
F.layer_norm(p,(3,),torch.ones(3),torch.ones(3))
F.layer_norm(s,(4,),torch.ones(4),torch.ones(4))
F.layer_norm(s,(3,3),torch.ones(3,3),torch.ones(3,3))
x.transpose(1,2)
x.transpose(1,2).contiguous()
x.transpose(2,3)
x.transpose(1,2)._nested_tensor_strides()
x.transpose(1,2)._nested_tensor_size()
x@x.transpose(2,3)
F.scaled_dot_product_attention(x,x,x)
F.scaled_dot_product_attention(x,x,x,is_causal=True)
F.scaled_dot_product_attention(x,x,x,attn_mask=torch.ones(3,3))
x.view(2,-1,-1,2,2)
x.reshape(2,-1,2,2)
x.view(2,2,-1,4)
x.view(2,2,-1,2,2)
x.transpose(1,2).reshape(2,-1,8)
x.transpose(1,2).view(2,-1,8)
x.unbind(1)
s.unbind(1)
s.select(2,0)
p.select(1,1)
p.select(2,5)
x.select(1,0)
s[1,1:]
s.narrow(0,1,1)
s.squeeze(0)
s.squeeze(-1)
s.unsqueeze(-1).squeeze(-1)
s.unsqueeze(1)
s.masked_fill(s>1,0)
s.transpose(1,2).clone()
s.to_padded_tensor(0)
s.transpose(1,2).to_padded_tensor(0)
p.to_padded_tensor(-1)
s.to_padded_tensor(0,(2,4,3))
s.to_padded_tensor(0,(2,4))
x.to_padded_tensor(0.)
ns.nested_tensor([]).to_padded_tensor(0)
ns.nested_tensor([]).dim()
ns.nested_tensor([]).numel()
ns.nested_tensor([]).size(0)
ns.nested_tensor([torch.tensor(1.)])+1
s.is_cpu
s.device
s.grad
S.grad_fn
s==torch.ones(3)
s<1
s!=1
torch.nn.Linear(3,2)(s).size(2)
torch.nn.Dropout(0.5)(s).numel()
(torch.manual_seed(0),F.dropout(s,0.5))[1]
p.values()
s.transpose(1,2).values()
torch._nested_tensor_from_mask(torch.arange(12.).reshape(2,2,3),torch.tensor([[True,False],[True,True]]))
torch._nested_tensor_from_mask(torch.arange(12.).reshape(2,2,3),torch.tensor([[False,True],[True,True]]))
torch._nested_tensor_from_mask(torch.arange(12.).reshape(2,2,3),torch.tensor([[False,True],[True,True]]),mask_check=False)
torch._nested_tensor_from_mask_left_aligned(torch.arange(12.).reshape(2,2,3),torch.tensor([[True,False],[True,True]]))
S.backward()
S.sin().backward(s)
S.grad
S.to_padded_tensor(0).sum().backward()
S.unbind()[0].sum().backward()
ns.nested_tensor([a.int()]).softmax(-1)
s.detach().requires_grad_()
s.add_(s)
s.mul_(2)
s.div_(2)
s.sub_(1)
s.relu_()
s.sin_()
s.fill_(1)
s.neg_()
s.copy_(p)
s.normal_()
torch.chunk(S,3,-1)[1]
p.chunk(1,-1)
s.chunk(2,-1)
s.requires_grad
S.is_leaf
S.sum(-1,keepdim=True)
S.softmax(-1)
S.clone()
torch.full_like(s,2)
torch.zeros_like(s.transpose(1,2))
s.all()
s.dtype
s.is_sparse
torch.isinf(s)
torch.isnan(s)
torch.sqrt(s)
(s>1).any()
torch.nested.to_padded_tensor(s,0)
torch.zeros(2).to_padded_tensor(0)
ns.nested_tensor([a,b],dtype=torch.float64)
ns.nested_tensor([a.double(),b])
ns.as_nested_tensor([a.double(),b])
ns.as_nested_tensor([a,torch.ones(3)])
ns.as_nested_tensor([])
ns.as_nested_tensor([a.clone().requires_grad_(),b])
ns.as_nested_tensor(torch.ones(2,3,requires_grad=True))
ns.nested_tensor([a,3])
ns.nested_tensor([a,"x"])
ns.nested_tensor([[1,2.5],[3]])
ns.nested_tensor((a,b))
ns.nested_tensor([[[1,2]],[[3]]])
torch.matmul(s,p)
torch.bmm(s,s)
torch.bmm(s,torch.ones(2,3,2))
torch.matmul(torch.ones(2,3),s)
x.matmul(x)
s.expand_as(s)
s.view_as(s)
s.reshape_as(s)
"""


def _lines(block):
    return [line for line in block.splitlines() if line]


CALLS = {
    "creation": _lines(CREATION), "attributes": _lines(ATTRIBUTES), "elementwise": _lines(ELEMENTWISE),
    "reductions": _lines(REDUCTIONS), "shapes": _lines(SHAPES), "layers": _lines(LAYERS), "gradients": _lines(GRADIENTS), "strided": _lines(STRIDED),
}  # fmt: skip

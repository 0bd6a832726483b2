"""safetensors: dictionaries and models written, read whole, by name and in part."""

import torch
from report import norms, say
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

torch.manual_seed(0)
dtypes = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.uint8, torch.bool]
tensors = {str(dtype): torch.randn(3, 4).mul(3).to(dtype) for dtype in dtypes}
save_file(tensors, "tensors.safetensors", metadata={"format": "pt"})
for name, tensor in load_file("tensors.safetensors").items():
    say(name, [str(tensor.dtype), torch.equal(tensor, tensors[name])])
with safe_open("tensors.safetensors", framework="pt", device="cpu") as file:
    say("metadata", file.metadata())
    say("part", norms(file.get_slice("torch.float32")[1:, :2]))
    say("whole", norms(file.get_tensor("torch.float64")))
data = save({"a": torch.arange(5)})
say("bytes", [len(data), load(data)["a"]])
tied = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
tied[1].weight = tied[0].weight
save_model(tied, "tied.safetensors")
other = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
other[1].weight = other[0].weight
say("model", load_model(other, "tied.safetensors"))
say("model.output", norms(other(torch.ones(2, 4))))
try:
    save_file(tied.state_dict(), "shared.safetensors")
except RuntimeError as error:
    say("shared", str(error).strip().split(":")[0])

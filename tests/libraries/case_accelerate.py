"""accelerate: a training loop under Accelerator with accumulation and clipping, its state in files, models without memory."""

import accelerate
import torch
from report import norms, say
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerate.utils.set_seed(0)
accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
loader = DataLoader(TensorDataset(torch.randn(24, 4), torch.randn(24, 2)), batch_size=4, shuffle=True)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)


def epoch():
    losses = []
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(inputs), targets)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    return losses


say("epoch", epoch())
accelerator.save_state("state")
first = epoch()
say("next", first)
say("rate", schedule.get_last_lr())
accelerator.load_state("state")
say("restored", epoch() == first)
say("gathered", norms(accelerator.gather_for_metrics(torch.arange(5.0))))
say("unwrapped", type(accelerator.unwrap_model(model)).__name__)
accelerator.save_model(model, "saved")
say("device", accelerator.device)

with accelerate.init_empty_weights():
    empty = nn.Sequential(nn.Linear(100, 100), nn.Linear(100, 10))
say("empty.device", next(empty.parameters()).device)
say("empty.size", sum(parameter.numel() for parameter in empty.parameters()))
small = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
torch.save(small.state_dict(), "small.pt")
with accelerate.init_empty_weights():
    loaded = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
loaded = accelerate.load_checkpoint_and_dispatch(loaded, "small.pt", device_map={"": "cpu"})
say("dispatched", torch.equal(loaded(torch.ones(1, 3)), small(torch.ones(1, 3))))
say("sizes", accelerate.utils.compute_module_sizes(small))

"""Teach an LSTM to continue a sine wave from its past.

Run it with PyTorch (`python lstm_sequence.py`) or with Rushlight (`rushlight run lstm_sequence.py`).
"""

import torch
from torch import nn


class Forecaster(nn.Module):
    """Reads a sequence of numbers and predicts, at each place, the next one."""

    def __init__(self, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(input_size=1, hidden_size=hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, sequence, state=None):
        hidden, state = self.lstm(sequence, state)
        return self.head(hidden), state


torch.manual_seed(0)
phases = 2 * torch.pi * torch.rand(32, 1)
waves = torch.sin(torch.arange(41) * 0.3 + phases).unsqueeze(-1)

model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(1, 121):
    predicted, _ = model(waves[:, :-1])
    loss = nn.functional.mse_loss(predicted, waves[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step}: loss {loss.item():.5f}")

with torch.no_grad():
    predicted, state = model(waves[:1, :20])
    value, errors = predicted[:, -1:], []
    for place in range(20, 30):
        errors.append((value - waves[:1, place : place + 1]).abs().item())
        value, state = model(value, state)
print(f"ten steps on its own predictions: mean error {sum(errors) / len(errors):.3f}")

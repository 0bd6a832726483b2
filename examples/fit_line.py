"""Fit a line to noisy points by gradient descent, with nothing but tensors and autograd.

Run it with PyTorch (`python fit_line.py`) or with Rushlight (`rushlight run fit_line.py`).
"""

import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 100)
y = 3 * x + 0.5 + 0.1 * torch.randn(100)

slope = torch.zeros((), requires_grad=True)
offset = torch.zeros((), requires_grad=True)

for step in range(1, 201):
    loss = ((slope * x + offset - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for number in (slope, offset):
            number -= 0.1 * number.grad
            number.grad = None
    if step % 40 == 0:
        print(f"step {step:3}: loss {loss.item():.5f}, y = {slope.item():.3f} x + {offset.item():.3f}")

"""Squeeze 8x8 images of one stroke through four numbers and draw what comes out again.

Run it with PyTorch (`python autoencoder.py`) or with Rushlight (`rushlight run autoencoder.py`).
"""

import torch
from torch import nn


def strokes(count):
    """`count` images with one soft straight stroke each, in any place and direction."""
    rows = torch.arange(8.0).view(1, 8, 1)
    columns = torch.arange(8.0).view(1, 1, 8)
    angle = torch.rand(count, 1, 1) * torch.pi
    middle = 2.5 + 2 * torch.rand(count, 1, 1)
    distance = (rows - middle) * torch.cos(angle) + (columns - middle) * torch.sin(angle)
    return torch.exp(-(distance**2))


def show(image):
    """The image as text, one character for each pixel."""
    for row in image.clamp(0, 1).tolist():
        print("  " + "".join(" .:-=+*#%@"[min(int(value * 10), 9)] * 2 for value in row))


torch.manual_seed(0)
encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
decoder = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.Sigmoid(), nn.Unflatten(1, (8, 8)))
model = nn.Sequential(encoder, decoder)
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
for step in range(1, 1001):
    images = strokes(64)
    loss = nn.functional.mse_loss(model(images), images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 250 == 0:
        print(f"step {step}: loss {loss.item():.5f}")

image = strokes(1)
with torch.no_grad():
    code = encoder(image)
    again = decoder(code)
print("\nan image:")
show(image[0])
print("its four numbers:", ", ".join(f"{number:.2f}" for number in code[0].tolist()))
print("drawn from them:")
show(again[0])

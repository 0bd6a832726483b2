"""Draw the graph that backward runs through, and play backward on it step by step.

Run it with Rushlight (`python draw_graph.py`), and open graph.html in a browser.
"""

import rushlight as torch
from rushlight import draw, nn


class Residual(nn.Module):
    """A layer with a way around it."""

    def __init__(self, size):
        super().__init__()
        self.norm, self.layer = nn.LayerNorm(size), nn.Linear(size, size)

    def forward(self, x):
        return x + self.layer(self.norm(x)).relu()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), Residual(8), Residual(8), nn.Linear(8, 3))
inputs, labels = torch.randn(16, 4), torch.randint(0, 3, (16,))

with draw.trace():  # nodes remember their lines and modules
    loss = nn.functional.cross_entropy(model(inputs), labels)

drawing = draw.backward(loss)  # loss.backward(), watched
print(drawing)
drawing.save("graph.html")
drawing.save("graph.svg")
print("wrote graph.html and graph.svg")

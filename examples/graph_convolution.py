"""Tell the communities of a graph apart with a graph convolutional network: its adjacency is a sparse tensor.

Run it with PyTorch (`python graph_convolution.py`) or with Rushlight (`rushlight run graph_convolution.py`).
"""

import torch
from torch import nn

torch.manual_seed(0)
nodes, classes = 600, 3
communities = torch.arange(nodes) % classes

# Links are ten times as likely within a community as between two.
likely = torch.where(communities[:, None] == communities, 0.03, 0.003)
links = (torch.rand(nodes, nodes) < likely).float()
links = ((links + links.T) > 0).float() + torch.eye(nodes)
scale = links.sum(1).rsqrt()
adjacency = (scale[:, None] * links * scale).to_sparse()  # normalised: each node hears its neighbours' mean, roughly
known = torch.arange(30)  # nodes whose community is told


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 32)
        self.second = nn.Linear(32, classes)

    def forward(self, features):
        found = torch.relu(adjacency @ self.first(features))
        return adjacency @ self.second(nn.functional.dropout(found, 0.5, self.training))


features = torch.randn(nodes, 16)
network = Network()
optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(1, 101):
    loss = nn.functional.cross_entropy(network(features)[known], communities[known])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        with torch.no_grad():
            network.eval()
            right = (network(features).argmax(1) == communities)[30:].float().mean()
            network.train()
        print(f"epoch {epoch:3}: loss {loss.item():.3f}, {right.item():.0%} of the other nodes right")

"""Tell the communities of a graph apart with a graph convolutional network: its adjacency is a sparse tensor.

    python examples/graph_convolution.py --steps 100

With `import torch` in place of the import of Rushlight, PyTorch runs it and prints the same numbers.
"""

from common import Progress, draw, options

import rushlight as torch

nn = torch.nn
FEATURES, CLASSES = 16, 3


def random_graph(nodes):
    """The normalised adjacency of a graph, sparse, and each node's community (nodes,)."""
    communities = torch.arange(nodes) % CLASSES
    # Links are ten times as likely within a community as between two.
    likely = torch.where(communities[:, None] == communities, 0.03, 0.003)
    links = (torch.rand(nodes, nodes) < likely).float()
    links = ((links + links.T) > 0).float() + torch.eye(nodes)
    scale = links.sum(1).rsqrt()
    return (scale[:, None] * links * scale).to_sparse(), communities  # a node hears its neighbours' mean, roughly


class Network(nn.Module):
    """Two layers, each of which passes what nodes found on to their neighbours."""

    def __init__(self, adjacency, hidden):
        super().__init__()
        self.adjacency = adjacency
        self.first = nn.Linear(FEATURES, hidden)
        self.second = nn.Linear(hidden, CLASSES)

    def forward(self, features):
        found = torch.relu(self.adjacency @ self.first(features))
        return self.adjacency @ self.second(nn.functional.dropout(found, 0.5, self.training))

    @torch.no_grad()
    def accuracy(self, features, communities):
        """The share of nodes that are given their own community."""
        self.eval()
        found = self(features).argmax(1)
        self.train()
        return (found == communities)[30:].float().mean().item()


def main(arguments=None):
    chosen = options(__doc__, steps=100, nodes=600, hidden=32).parse_args(arguments)
    torch.manual_seed(chosen.seed)
    adjacency, communities = random_graph(chosen.nodes)
    features = torch.randn(chosen.nodes, FEATURES)
    known = torch.arange(30)  # nodes whose community is told
    network = Network(adjacency, chosen.hidden)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in (progress := Progress(chosen.steps)):
        loss = nn.functional.cross_entropy(network(features)[known], communities[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        progress.show(loss=loss.item(), accuracy=network.accuracy(features, communities))
    draw(loss, network, chosen.draw)
    return loss.item()


if __name__ == "__main__":
    main()

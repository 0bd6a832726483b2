"""Training steps of networks on graphs and of sparse embeddings: products with sparse matrices, gradients of a few rows."""

from __future__ import annotations

from networks import adam, model

NODES, FEATURES, EDGES, CLASSES = 2708, 1433, 10556, 7  # Cora's, of citations among papers


def citations(torch):
    """A random graph of Cora's size: the normalised adjacency as a sparse tensor, features, classes and training nodes."""
    generator = torch.Generator().manual_seed(0)
    ends = torch.randint(0, NODES, (2, EDGES // 2), generator=generator)
    loops = torch.arange(NODES)
    places = torch.cat([ends, ends.flip(0), torch.stack([loops, loops])], 1)
    adjacency = torch.sparse_coo_tensor(places, torch.ones(places.shape[1]), (NODES, NODES)).coalesce()
    degrees = torch.sparse.sum(adjacency, 1).to_dense().rsqrt()
    rows, columns = adjacency.indices()
    values = adjacency.values() * degrees[rows] * degrees[columns]
    adjacency = torch.sparse_coo_tensor(adjacency.indices(), values, (NODES, NODES)).coalesce()
    features = (torch.rand(NODES, FEATURES, generator=generator) < 0.0127).float()
    features = features / features.sum(1, keepdim=True).clamp(min=1)
    classes = torch.randint(0, CLASSES, (NODES,), generator=generator)
    return adjacency, features, classes, torch.arange(140)


def gcn(torch, adjacency, features, classes, training, hidden=16):
    """A step of a graph convolutional network of two layers with dropout, its loss on some nodes, and Adam."""
    functional = torch.nn.functional
    layers = torch.nn.ModuleList([torch.nn.Linear(FEATURES, hidden), torch.nn.Linear(hidden, CLASSES)])
    optimizer = adam(torch, layers)

    def step():
        found = adjacency @ layers[0](features)
        found = functional.dropout(functional.relu(found), 0.5)
        found = adjacency @ layers[1](found)
        loss = functional.cross_entropy(found[training], classes[training])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


@model
def gcn_cora(torch):
    """Features as a dense matrix."""
    return gcn(torch, *citations(torch))


@model
def gcn_cora_csr(torch):
    """The adjacency in the CSR layout."""
    adjacency, *rest = citations(torch)
    return gcn(torch, adjacency.to_sparse_csr(), *rest)


@model
def gcn_cora_sparse_features(torch):
    """Features as a sparse matrix, which the first layer's weight is multiplied by."""
    adjacency, features, *rest = citations(torch)
    return gcn(torch, adjacency, features.to_sparse(), *rest)


@model
def sparse_embedding(torch):
    """A table of 100,000 rows of which a step touches 640: SparseAdam."""
    generator = torch.Generator().manual_seed(0)
    table, head = torch.nn.Embedding(100_000, 64, sparse=True), torch.nn.Linear(64, 1)
    optimizers = torch.optim.SparseAdam(table.parameters()), adam(torch, head)
    words = torch.randint(0, 100_000, (64, 10), generator=generator)
    targets = torch.rand(64, 1, generator=generator)

    def step():
        loss = ((head(table(words).mean(1)) - targets) ** 2).mean()
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        return loss

    return step

"""PyTorch's name for the file with the embeddings."""

from .embedding import Embedding, EmbeddingBag

__all__ = ["Embedding", "EmbeddingBag"]

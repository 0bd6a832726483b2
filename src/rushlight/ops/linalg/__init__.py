"""Linear algebra: one family a file; importing the package fills the op table."""

from . import cholesky, eigen, inverse, ldl, lu, orthogonal, products, removed, singular, solve

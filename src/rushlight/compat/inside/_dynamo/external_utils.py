"""``torch._dynamo.external_utils``: whether code is being compiled."""

from ....compiler.marks import is_compiling

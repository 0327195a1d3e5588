"""The operations, one file per family. Importing this package registers all of them."""
from penstock.ops import constant  # noqa: F401

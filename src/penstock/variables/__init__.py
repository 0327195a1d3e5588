"""Variables: their kinds, scopes, initializers and partitions. Stands above ``ops`` and ``gradients``, below ``train``."""
from penstock.variables import (  # noqa: F401
    assign,
    initialization,
    initializers,
    partitioned,
    ref_variable,
    resource_variable,
    scope,
    template,
    variable,
)

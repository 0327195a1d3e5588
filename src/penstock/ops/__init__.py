"""The operations, one file per family. Importing this package registers all of them."""
from penstock.ops import constant  # noqa: F401
from penstock.ops import shape_ops  # noqa: F401
from penstock.ops import slicing  # noqa: F401
from penstock.ops import array  # noqa: F401
from penstock.ops import check_shapes, checks, misc, printing, random, random_extra, random_gamma, random_stateless  # noqa: F401
from penstock.ops import (  # noqa: F401
    argmax,
    bitwise,
    cumulative,
    division,
    elementwise,
    operators,
    powers,
    reduce,
    rounding,
    sequences,
    special,
    statistics,
    trigonometry,
)

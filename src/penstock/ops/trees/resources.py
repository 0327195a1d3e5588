"""What the ops of boosted trees share: handles of resources that exist before their contents do."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import KernelError, NotFoundError
from penstock.ops.common import fixed
from penstock.ops.queues.handles import find_or_create, plain


class Handle:
    """A handle: it makes an empty resource, of the class ``_resource``, that another op fills."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(ctx, container, shared_name, _resource):
        return find_or_create(ctx, _resource.__name__, container, shared_name, _resource, by_node=True)


class IsInitialized:
    """True if the resource has been created."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(**arguments):
        handle, = arguments.values()
        return np.bool_(plain(handle).initialized)


def created(handle: Any) -> Any:
    """The resource behind a handle; NotFoundError if it has not been created."""
    resource = plain(handle)
    if not resource.initialized:
        raise KernelError(NotFoundError, f"Resource {resource.name} ({type(resource).__name__}) does not exist: its initializer has not run.")
    return resource

"""``tfe.make_template``: ``tf.make_template``, whose function may be traced."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.imperative.function import defun
from penstock.variables import template


def make_template(name_: str, func_: Callable[..., Any], create_scope_now_: bool = False, unique_name_: str | None = None,
                  custom_getter_: Any = None, create_graph_function_: bool = False, **kwargs: Any) -> template.Template:
    """``tfe.make_template``: with ``create_graph_function_`` the function is traced, as by ``tfe.defun``."""
    bound = functools.partial(func_, **kwargs) if kwargs else func_
    return template.make_template(name_, defun(bound) if create_graph_function_ else bound, create_scope_now_, unique_name_, custom_getter_)

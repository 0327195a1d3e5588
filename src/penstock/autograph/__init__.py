"""AutoGraph: Python control flow over tensors becomes graph control flow.

``converted_form(f)`` is a function like ``f`` in which ``if``, ``while``, ``for`` and so on ask, when they run, whether what they depend on is a
tensor of a graph. If it is, both branches (or the body of the loop) are traced and become one ``If`` or ``While`` operation; otherwise Python goes on
as written.

The way of a function: ``definitions.py`` finds its syntax tree; ``jumps.py`` turns break, continue and return into plain assignments and ifs;
``liveness.py`` tells which variables matter after each statement; ``rewrite.py`` makes functions of blocks and calls of statements, which
``branches.py``, ``loops.py``, ``builtin_functions.py`` and ``lists.py`` carry out; ``conversion.py`` compiles the result and keeps it.

What must stay true: for values that are not tensors of a graph, a converted function does what the function does; and it is compiled under the name
of the user's file with the user's line numbers, so that every traceback points at the user's source.
"""

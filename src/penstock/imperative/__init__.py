"""Imperative style: operations give values, not nodes. It is the graph, deferred.

A call of an op is *recorded*: its inputs are converted and checked and its shape function runs, as in a graph (``recording.py``). Nothing is computed
until a value is looked at. Then everything that was recorded since the last look is one program, a *segment*, and runs by a plan that is looked up by
its structure (``segments.py``): the second turn of a training loop is one step, with the kernels and the native code of a session. What was recorded
inside a ``GradientTape`` can be differentiated, by the gradient functions of the ops (``tape.py``).

What must stay true: a value is what running the operations one by one would give; side effects keep the order of the program; memory is bounded
however long a loop runs without a look.
"""

"""Control flow: conditionals, loops, tensor arrays, assertions, Python functions."""

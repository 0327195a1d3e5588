"""libpenstock: TensorFlow's C API over this package, for programs in other languages.

The header (``include/tensorflow/c/c_api.h``) says what there is, and is read by everything else (``declarations.py``). The library is built by
``penstock capi`` (``build.py``): ``shim.c`` has what needs no Python (status, buffers, tensors), finds and starts the interpreter, and forwards all
other functions to it. Here each of those is a Python function of the same name, marked by ``@entry``; ``entries.py`` turns what C gives into
Python objects, and exceptions into a ``TF_Status``. ``include/penstock`` has the front end in C++, whose operations ``cpp_ops.py`` writes.
"""

"""What the pages of Penstock share: the server on loopback (``server.py``), how a command serves a page (``serving.py``), and frame, style,
elements and drawings (``shared/``).

The pages themselves are ``playground/``, ``monitor/`` (`penstock status --browser`) and ``debugger/`` (`penstock debug --browser`).
"""

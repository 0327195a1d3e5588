"""``tensorflow.python.debug``, tfdbg: what nodes computed in a run, on the terminal or from files.

A RunOptions says what is watched (``watching.py``), the session writes it out (``session/watches.py``), ``DebugDumpDir`` reads it (``dump_dir.py``),
and the command line searches it (``commands.py``, ``analyzer.py``): after each run of a wrapped session (``sessions.py``, ``local_cli.py``), in
monitored sessions (``hooks.py``), or when all is over (``offline_analyzer.py``).
"""

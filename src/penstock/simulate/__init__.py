"""``penstock simulate``: what a program would do on a cluster that is not there.

The program's own step is planned by the real pipeline and measured on this machine, part by part (``capture.py``, ``work_blocks.py``: a
``profile.JobProfile``). What a message costs is measured once per machine (``calibration.py``: ``costs.Costs``). Then a cluster of any size runs that
step on a virtual clock: machines whose cores are shared (``machine.py``), links (``network.py``), tasks that send each other what the parts send,
end a step by the master's own state machine, and meet at real queues and accumulators (``job.py``, ``coordination.py``). Nothing here knows a model.
"""

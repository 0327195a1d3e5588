"""``penstock status --browser``: a page of a running cluster.

``cluster.py`` asks the cluster, with its secret, and never changes it; ``page/`` shows what it tells.
"""

"""What outlives a step: the values of variables, queues, tables, readers, accumulators. Made of graph types alone; kernels of ``ops`` use it."""

"""From a graph to what a step runs: the part of the graph that the fetches need, and the passes over it."""

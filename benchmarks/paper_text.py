"""What docs/paper.md says around its tables; figures of the paper are those of Abadi et al., OSDI 2016."""
from __future__ import annotations

TABLE_1 = {  # milliseconds per training step on a Titan X: Caffe, Neon, Torch, TensorFlow
    "AlexNet": (324, 87, 81, 81), "Overfeat": (823, 211, 268, 279), "OxfordNet": (1068, 320, 529, 540), "GoogLeNet": (1935, 270, 470, 445),
}

PAGE = """# The paper's evaluation

Section 6 of "TensorFlow: A System for Large-Scale Machine Learning" (OSDI 2016), on Penstock. Written by `make paper` on {date}; {machine}.
Steps of one worker were measured on this machine, with all tasks in one process; clusters of the paper's size were then simulated by `penstock
simulate` ([clusters.md](clusters.md)): machines of 8 cores, links of 10 Gbit/s and 50 us. The paper ran on a shared production cluster with
GPUs. So shapes can be compared, and figures cannot.

## How far the simulation can be trusted

Steps per second and worker of the cluster benchmark's models, measured with real processes on one machine, and simulated for the same machine.

{checked}

## 6.1 One machine: training steps of convnets

The paper's columns are milliseconds on a GPU (Titan X) with batches of 128 (AlexNet, GoogLeNet, Overfeat) and 64 (OxfordNet); ours are
a CPU of two cores with the batches of [RESULTS_AVX2.md](../benchmarks/RESULTS_AVX2.md). The question is the same: is a framework that is not
tuned for convnets alone as fast as those that are?

{table_1}

## 6.2 Steps without computation

16 parameter servers. "null" reads a number of each; "dense" reads and updates 100 MB, "sparse" 32 rows of 64 floats of a table of 2^20 rows,
both synchronously. The paper: 1.8 ms at one worker and 8.8 ms at 100 for the scalar model, 147 ms to 613 ms for 100 MB, 5 to 20 ms for sparse
ones, whatever the size of the table.

![Milliseconds per step over workers](paper_null.svg)

{null}

What differs: our messages are handled in Python, so that a worker that talks to 16 tasks pays for 16 messages in its interpreter. The shape is
the paper's: sparse steps do not depend on the size of the model, dense ones are limited by the links of the parameter servers.

## 6.3 Image classification: Inception-v3

17 parameter servers, one image of 299 x 299 per worker and step (the paper: 32 on a GPU), workers that are late by a Pareto distribution (scale
30 ms, shape 2.2), as on a shared cluster.

![Images per second over workers](paper_inception.svg)

{inception}

The paper: throughput grows to 2,300 images per second at 200 workers with diminishing returns; synchronous steps take about 10 % longer than
asynchronous ones in the median, and their tail is longer.

Backup workers, with 50 workers whose gradients make an update:

![Seconds per update over backup workers](paper_backups.svg)

{backups}

The paper: each backup up to the fourth makes the step shorter (to 1.93 s), the fifth a little longer; three give the best speed-up for what they
cost, 9.5 %.

## 6.4 Language modelling: LSTM-512-512, 40,000 words

Batches of 16 sequences of 20 words. The softmax is spread over the parameter servers: of the full one, each multiplies with its own shard; the
sampled one fetches 512 rows and those of the targets.

![Words per second over parameter servers](paper_language.svg)

{language}

The paper: adding a second parameter server is more effective than going from 4 to 32, or from 32 to 256 workers, as long as they compute the
softmax; the sampled softmax lets them do a fraction (1/78) of that work.
"""

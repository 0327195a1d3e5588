"""What docs/paper.md says around its tables; figures of the paper are those of Abadi et al., OSDI 2016."""
from __future__ import annotations

TABLE_1 = {  # milliseconds per training step on a Titan X: Caffe, Neon, Torch, TensorFlow
    "AlexNet": (324, 87, 81, 81), "Overfeat": (823, 211, 268, 279), "OxfordNet": (1068, 320, 529, 540), "GoogLeNet": (1935, 270, 470, 445),
}
# What the paper's text says of its curves.
NULL_MS = {("null", 1): 1.8, ("null", 100): 8.8, ("dense", 1): 147, ("dense", 100): 613}  # medians; null is its "scalar"
IMAGES_PER_SECOND = {("asynchronous", 200): 2300}
BACKUPS = {4: ("1.93", ""), 3: ("", "1.095")}  # seconds per step, normalised speed-up

PAGE = """# The paper's evaluation

Section 6 of "TensorFlow: A System for Large-Scale Machine Learning" (OSDI 2016), on Penstock. Written by `make paper` on {date}; {machine}.
Three kinds of figures: the paper's own, which stand in the text; real runs, as far as this machine carries them (up to 8 worker processes, all
tasks on its 2 cores, over Unix sockets and shared memory; where a model is reduced, its size is named); and clusters of the paper's size, which
`penstock simulate` ([clusters.md](clusters.md)) predicts from steps of one worker that were measured here: machines of 8 cores, links of 10
Gbit/s and 50 us. The paper ran on a shared production cluster with GPUs. So shapes can be compared, and figures cannot.

## How far the simulation can be trusted

{checked}

## 6.1 One machine: training steps of convnets

The paper's columns are milliseconds on a GPU (Titan X) with batches of 128 (AlexNet, GoogLeNet, Overfeat) and 64 (OxfordNet); ours are a CPU of
two cores with the batches of [RESULTS_AVX2.md](../benchmarks/RESULTS_AVX2.md) (`make bench`). The question is the same: is a framework that is
not tuned for convnets alone as fast as those that are?

{table_1}

What differs: in the paper TensorFlow and Torch lie within 6 % of each other, since they call the same GPU library, and Neon's hand-written
kernels win three of four rows. Here each framework brings its own kernels for the CPU, and Penstock's are made at run time for the step at hand.

## 6.2 Steps without computation

"null" reads a number of each parameter server; "scalar" and "dense" read and update all of the model, "sparse" 32 rows of 64 floats of a table
of 64k or 1M rows. The paper, with 16 parameter servers and 1 to 100 workers, synchronously: 1.8 ms (1 worker) to 8.8 ms (100) for the scalar
model, 147 ms to 613 ms for 100 MB, 1.01 s to 7.16 s for 1 GB, 5 to 20 ms for sparse ones, whatever the size of the table.

Real runs: 2 parameter servers, asynchronous steps, beside TensorFlow 2.21's runtime (sessions of compat.v1, gRPC).

{real_null}

Simulated: 16 parameter servers on machines of their own; dense (100 MB) and sparse (1M rows) synchronously, as in the paper.

![Milliseconds per step over workers](paper_null.svg)

{null}

What differs: messages are handled in Python, so that a worker that talks to 16 tasks pays for 16 messages in its interpreter, and a parameter
server for the messages of all workers: a null step costs more here than in the paper, and grows sooner, and so do sparse ones. Dense steps are
limited by how many bytes the parameter servers can move, as in the paper, and theirs copy them in Python's gRPC.

## 6.3 Image classification: Inception-v3

The paper: 17 parameter servers, 25 to 200 workers with a GPU each, batches of 32; throughput grows to 2,300 images per second at 200 workers
with diminishing returns; synchronous steps take about 10 % longer than asynchronous ones in the median, and their tail is longer.

Real runs, reduced: 2 parameter servers, the whole network on one image of 139 x 139 pixels per worker and step.

{real_inception}

What differs: workers share two cores, so their number changes the time of a step and hardly the throughput. Synchronous
workers wait for the slowest of them: two lose a fifth, eight, which wait for cores in any case, nothing. The tail of eight is shorter than that of
eight asynchronous ones, of which some get ahead; that differs from the paper, where machines are late and not crowded.

Simulated: 17 parameter servers, 32 images of 299 x 299 per worker and step (the step was measured with one image; what the worker computes is
taken to last 32 times as long), workers that are late by a Pareto distribution (scale 0.5 s, shape 2), as on a shared cluster.

![Images per second over workers](paper_inception.svg)
![Seconds per step over workers](paper_inception_steps.svg)

{inception}

What differs: the work of a step is done by 8 cores of a CPU in the place of a GPU. A step also moves 108 MB of parameters each way, by gRPC in
Python: the parameter servers carry some 24 steps per second of all workers together, which bends the curve where the paper's links and GPUs bend
theirs. Synchronous steps lose far more than the paper's 10 %, by the distribution that is assumed: half a second is a small part of a step, but the
last of 50 workers is late by six seconds in the mean, and the last of 200 by twelve. A run has ten updates, so that a single very late
worker shows in a point of the curve.

Backup workers, with 50 workers whose gradients make an update. The paper: each backup up to the fourth makes the step shorter (to 1.93 s), the
fifth a little longer; three give the best speed-up for what they cost, 9.5 %.

![Seconds per update over backup workers](paper_backups.svg)

{backups}

What differs: how late workers are is assumed here (a Pareto distribution of shape 2, whose variance is infinite: a heavy tail) and was measured
there, so the place of the optimum follows from the distribution. It is no prediction: the scale of 0.5 s was chosen when a step took twelve seconds
in an earlier record, where four backups were best. Beside a step of four seconds the same waits weigh more. The trade is the paper's: the first
backup takes away the longest waits, and each further one saves less. What backups bring for what they cost is nearly even from the third to the
fifth, so that a few of twenty updates decide which of these comes out best; no backup makes updates longer, as the paper's fifth does.

## 6.4 Language modelling: LSTM-512-512, 40,000 words

The program is [examples/language_model.py](../examples/language_model.py). The softmax is spread over the parameter servers: of the full one,
each multiplies with its own shard; the sampled one fetches 512 rows and those of the targets. The paper: adding a second parameter server is
more effective than going from 4 to 32, or from 32 to 256 workers, as long as workers compute the full softmax; the sampled softmax lets them do
a fraction (1/78) of that work.

Real runs, reduced: 2 parameter servers, batches of 4 sequences of 20 words.

{real_language}

Simulated: batches of 16 sequences of 20 words.

![Words per second over parameter servers](paper_language.svg)

{language}

What differs: the parameter servers multiply on CPUs here as there, and are the limit with the full softmax: a second one helps where more workers do
not, as in the paper. The workers' LSTM also runs on CPUs, so that the sampled softmax gains less than the paper's. Four workers with the
sampled one are not helped by a second server. With several shards
the number of rows of each differs from step to step, native code for changing shapes comes late
(`execute/changing_shapes.py`), and these profiles are of eight steps. In the real runs, whose steps are warm, the sampled softmax is 2.6 to 3.0 times
as fast as the full one.
"""

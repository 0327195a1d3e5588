"""Random tensors: with seeds, so that two runs agree. TensorFlow's own numbers are in the golden cases."""
import numpy as np

from support.examples import example, ints, normal, positive

SEEDS = {"seed": 3, "seed2": 4}

example("RandomUniform", ints(2, 3), dtype="float32", **SEEDS)
example("RandomUniformInt", ints(2, 3), np.int32(-4), np.int32(9), **SEEDS)
example("RandomStandardNormal", ints(2, 3), dtype="float64", **SEEDS)
example("TruncatedNormal", ints(5), dtype="float32", **SEEDS)
example("ParameterizedTruncatedNormal", ints(2, 3), *(np.float32(v) for v in (0.5, 2.0, -1.0, 3.0)), grad=False, types=(), **SEEDS)
example("RandomShuffle", normal(5, 2), grad=False, **SEEDS)
example("Multinomial", normal(2, 4), np.int32(3), grad=False, types=(), **SEEDS)
example("RandomGamma", ints(2), positive(3), grad=False, types=(), **SEEDS)  # each run draws anew: there is no numeric gradient
example("RandomGammaGrad", positive(3), positive(3), grad=False)  # TensorFlow has no second order either
example("RandomPoisson", ints(2), positive(3), grad=False, types=(), **SEEDS)
example("RandomPoissonV2", ints(2), positive(3), grad=False, types=(), **SEEDS)
example("StatelessRandomUniform", ints(2, 3), ints(5, 6, dtype=np.int64))
example("StatelessRandomUniformInt", ints(2, 3), ints(5, 6), np.int32(2), np.int32(20))
example("StatelessRandomNormal", ints(2, 3), ints(5, 6))
example("StatelessTruncatedNormal", ints(2, 3), ints(5, 6))
example("StatelessMultinomial", normal(2, 4), np.int32(3), ints(5, 6), grad=False, types=())

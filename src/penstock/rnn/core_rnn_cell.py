"""The cells, and the linear map that programs borrow from them, under the name of the module that programs of 2017 import them from."""
from __future__ import annotations

from penstock.rnn.basic_cells import BasicRNNCell, GRUCell  # noqa: F401
from penstock.rnn.cell import RNNCell  # noqa: F401
from penstock.rnn.linear import Linear as _Linear  # noqa: F401
from penstock.rnn.linear import linear as _linear  # noqa: F401
from penstock.rnn.lstm import BasicLSTMCell, LSTMCell, LSTMStateTuple  # noqa: F401
from penstock.rnn.multi import MultiRNNCell  # noqa: F401
from penstock.rnn.projections import EmbeddingWrapper, InputProjectionWrapper, OutputProjectionWrapper  # noqa: F401
from penstock.rnn.wrappers import DeviceWrapper, DropoutWrapper, ResidualWrapper  # noqa: F401

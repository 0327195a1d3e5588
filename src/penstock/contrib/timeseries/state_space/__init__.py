"""Linear state space models: a hidden state that moves linearly with noise, and observations that are linear in it."""

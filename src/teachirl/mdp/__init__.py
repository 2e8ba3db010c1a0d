"""Markov decision processes with features: the model, policies, occupancies, planning."""

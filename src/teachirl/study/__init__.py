"""Experiments: run on cores or a cluster, kept in a database, judged and written up."""

"""Which features to teach, by teaching risk: greedily, or the best set."""

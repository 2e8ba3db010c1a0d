"""What a learner sees of the features, and what that hides from her: worldview, teaching risk."""

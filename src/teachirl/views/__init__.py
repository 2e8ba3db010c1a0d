"""What a learner sees of the features, and what that hides: worldview, teaching risk."""

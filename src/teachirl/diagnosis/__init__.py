"""What a learner sees, found out from what the learner does: probes, exchanges, and their proof."""

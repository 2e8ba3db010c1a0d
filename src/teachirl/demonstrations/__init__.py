"""What a learner is shown: exact, sampled or recorded; and what weights it speaks for."""

"""A lesson: the task, the rounds, what a teacher is, and what was learned."""

"""What an expert may be after, where one reward is not known to be the one."""

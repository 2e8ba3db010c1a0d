"""A report as one HTML page: its tables, its maps and its pictures."""

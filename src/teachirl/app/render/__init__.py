"""A document on the console, as JSON and as one HTML page."""

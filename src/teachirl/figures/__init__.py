"""How results look to a reader: digits, figures as records of numbers, and their drawing."""

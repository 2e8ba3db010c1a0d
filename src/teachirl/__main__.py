"""``python -m teachirl`` is ``teachirl``."""

from .cli import main

if __name__ == "__main__":
    main()

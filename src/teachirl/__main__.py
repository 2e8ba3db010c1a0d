"""``python -m teachirl`` is ``teachirl``."""

from .app.cli import main

if __name__ == "__main__":
    main()

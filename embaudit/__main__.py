"""`python -m embaudit`."""

from embaudit.cli import main

if __name__ == "__main__":
    main()

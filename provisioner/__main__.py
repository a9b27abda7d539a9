"""Lets ``python -m provisioner`` stand for the ``provision`` command."""

from provisioner.cli.main import main

if __name__ == "__main__":
    main()

"""Package managers: one file each, with a ``Manager(host)``; see ``live_packages``."""

"""A project as programs and the command line use it: settings, inventory and playbooks read, checked and ready to be run."""

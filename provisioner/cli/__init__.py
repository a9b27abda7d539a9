"""The ``provision`` command: the only place that parses arguments, prints and exits."""

"""Starts an agent where a host is, over SSH, locally or in a container, and gives the engine its two byte streams.

Only the command line imports ``transport.connect``; Fabric and Paramiko are imported by the ``ssh*`` files alone.
"""

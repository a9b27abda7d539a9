"""Modules of Ansible's kind: which library they need, how they are run, and the archive that brings them to a node.

Nothing of Ansible is part of this program. What such modules import is taken, file by file, from the ansible-core that is installed
beside us (``pip install 'provisioner[ansible]'``) or that a setting names, and sent to nodes as data.
"""

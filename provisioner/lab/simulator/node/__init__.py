"""SIMULATION of NVIDIA GPUs, the part that runs inside a lab node.

Copied to ``/usr/lib/provision-sim/provision_sim``. Python 3.9 syntax, standard library only, and cheap to import: nvidia-smi is called
often. Nothing in here talks to hardware.
"""

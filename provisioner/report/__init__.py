"""Renderers of runs and plans: they read events and documents, and nothing else."""

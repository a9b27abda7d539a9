"""The walk over hosts: plays, blocks, tasks, handlers, batches."""

"""The modules: one file each, named as the module, with a ``MODULE`` declaration and one function against ``Node``."""

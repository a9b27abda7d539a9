"""Modules as data: finding them, coercing arguments by their declarations, reference pages and the editor schema."""

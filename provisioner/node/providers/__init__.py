"""Keyed values outside the file tree: one file a namespace.

Each provider has ``read(host, key)`` (the value now, None where there is none) and ``write(host, key, value, options)`` (None removes).
``host`` is the live side: it offers ``tool``, ``execute``, ``content`` and the rest of ``Live``.
"""

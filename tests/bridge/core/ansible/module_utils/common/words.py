def joined(words):
    return ", ".join(sorted(words))

"""The plan as a document and a promise: what is saved, what must still hold when it is carried out, and what was made of it."""

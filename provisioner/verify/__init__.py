"""Proof that nodes are as the playbooks say: an empty plan over fresh connections, then the tests that live beside each role."""

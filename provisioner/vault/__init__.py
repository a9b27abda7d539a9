"""Ansible Vault: passwords by id, encrypted files and inline values, in the format that ansible-vault reads and writes."""

from provisioner.vault.envelope import DEFAULT_ID, MAGIC, Envelope, EnvelopeError, WrongPassword, is_vaulted
from provisioner.vault.passwords import Ask, Password, load_passwords, new_password, split_id
from provisioner.vault.store import Vault, Vaulted

__all__ = [
    "DEFAULT_ID",
    "MAGIC",
    "Ask",
    "Envelope",
    "EnvelopeError",
    "Password",
    "Vault",
    "Vaulted",
    "WrongPassword",
    "is_vaulted",
    "load_passwords",
    "new_password",
    "split_id",
]

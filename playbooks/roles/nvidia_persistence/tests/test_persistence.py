"""Persistence mode by what the GPUs say: the daemon may be active and the mode off."""

from testinfra.host import Host


def test_every_gpu_has_it(host: Host, role_vars):
    if role_vars.get("nvidia_gpu_count") == 0 or not role_vars["nvidia_persistence_enabled"]:
        return
    said = host.check_output("nvidia-smi --query-gpu=persistence_mode --format=csv,noheader").split("\n")
    assert set(said) == {"Enabled"}


def test_the_daemon_starts_at_boot(host: Host, role_vars):
    unit = host.service(str(role_vars["nvidia_persistence_unit"]))
    assert unit.is_enabled is bool(role_vars["nvidia_persistence_enabled"])

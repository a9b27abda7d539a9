"""Power limits: in force now, and brought back at boot."""

from fnmatch import fnmatch

from testinfra.host import Host

FIELDS = "uuid,name,power.limit,power.default_limit"


def test_every_board_has_its_limit(host: Host, role_vars):
    limits = role_vars["nvidia_power_limits"]
    if role_vars.get("nvidia_gpu_count") == 0 or not limits:
        return
    said = host.check_output(f"nvidia-smi --query-gpu={FIELDS} --format=csv,noheader,nounits")
    for line in said.splitlines():
        uuid, name, now, default = line.split(", ")
        patterns = [watts for selector, watts in limits.items() if selector == "all" or fnmatch(name, selector)]
        wanted = limits.get(uuid, patterns[0] if patterns else None)
        if wanted is not None and now != "[N/A]":
            assert abs(float(now) - float(default if wanted == "default" else wanted)) <= 1, f"{uuid} {name}"


def test_they_come_back_at_boot(host: Host, role_vars):
    unit = host.service(str(role_vars["nvidia_power_unit"]))
    assert unit.is_enabled is bool(role_vars["nvidia_power_limits"])
    shown = host.check_output("systemctl show -p After -p Before %s", str(role_vars["nvidia_power_unit"]))
    assert set(role_vars["nvidia_power_after"]) <= set(shown.replace("=", " ").split())


def test_the_program_agrees(host: Host, role_vars):
    if role_vars.get("nvidia_gpu_count") == 0 or not role_vars["nvidia_power_limits"]:
        return
    assert host.service(str(role_vars["nvidia_power_unit"])).is_running

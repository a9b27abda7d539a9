"""The same thirty steps for pyinfra, with its own operations; run by ``compare.py``."""

from io import StringIO

from pyinfra import host
from pyinfra.facts.files import File, FindFiles
from pyinfra.facts.server import Kernel, LinuxDistribution
from pyinfra.operations import apt, crontab, files, server, systemd

BRANCH = "535"
ADMINS = ["ada", "grace", "edsger"]
UNIT = "[Unit]\nDescription=Exporter\n[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"


def put(name: str, path: str, text: str, mode: str = "644") -> None:
    files.put(name=name, src=StringIO(text), dest=path, mode=mode, _sudo=True)


files.directory(name="Folder for the site", path="/etc/site", mode="755", user="root", group="root", _sudo=True)
files.directory(name="Folder for logs", path="/var/log/site", mode="750", _sudo=True)
put("nouveau stays out", "/etc/modprobe.d/blacklist-nouveau.conf", "blacklist nouveau\noptions nouveau modeset=0\n")
put("Driver branch", "/etc/site/branch", f"{BRANCH}\n")
put("Pin of the branch", "/etc/apt/preferences.d/site-nvidia", f"Package: *nvidia*\nPin: version {BRANCH}.*\nPin-Priority: 1001\n")
cores = "".join(f"admin: {name}\n" for name in ADMINS)
distribution = host.get_fact(LinuxDistribution)
put("Message of the day", "/etc/motd", f"{distribution['name']} {distribution['major']} GPU node, driver branch {BRANCH}\n")
apt.packages(name="Tools", packages=["sudo", "python3", "openssh-server"], _sudo=True)
apt.packages(name="A package manager's own tool", packages=["cron"], _sudo=True)
server.group(name="Group of the operators", group="operators", gid=4100, _sudo=True)
for admin in ADMINS:
    server.user(name=f"Operator {admin}", user=admin, group="operators", shell="/bin/bash", create_home=False, _sudo=True)
for key, value in (("memlock", "unlimited"), ("nofile", "1048576")):
    files.line(name=f"Limit {key}", path="/etc/security/limits.conf", line=rf"^\* - {key} .*$", replace=f"* - {key} {value}", _sudo=True)
files.block(name="Block of hosts", path="/etc/hosts", content="192.0.2.10 head\n192.0.2.11 storage", _sudo=True)
files.line(
    name="No root login", path="/etc/ssh/sshd_config", line="^#?PermitRootLogin.*$", replace="PermitRootLogin prohibit-password", _sudo=True
)
put("Swappiness file", "/etc/sysctl.d/90-site.conf", "vm.swappiness = 10\n")
put("Unit of the exporter", "/etc/systemd/system/site-exporter.service", UNIT)
systemd.service(name="Exporter runs", service="site-exporter", running=True, enabled=True, _sudo=True)
systemd.service(name="cron runs", service="cron", running=True, enabled=True, _sudo=True)
crontab.crontab(name="Job that collects", command="/usr/local/bin/collect", cron_name="collect", minute="*/5", user="root", _sudo=True)
put("The job's program", "/usr/local/bin/collect", "#!/bin/sh\nexit 0\n", "755")
files.link(name="Link to the current branch", path="/etc/site/current", target="/etc/site/branch", _sudo=True)
files.file(name="Old settings are gone", path="/etc/site/old.conf", present=False, _sudo=True)
assert host.get_fact(File, path="/etc/site/branch", _sudo=True) is not False
put("Kernel in a file", "/etc/site/kernel", f"{host.get_fact(Kernel)}\n")
files.replace(name="Replace a word", path="/etc/site/exporter.conf", text="^debug: true$", replace="debug: false", _sudo=True)
host.get_fact(FindFiles, path="/etc/site", _sudo=True)

"""Short names of modules that Ansible or its best-known collections have: to tell a module we lack from a typing error."""

from __future__ import annotations

_NAMES = """
add_host apt apt_key apt_repository assemble assert async_status blockinfile command copy cron deb822_repository debconf debug dnf
dnf5 dpkg_selections expect fail fetch file find gather_facts get_url getent git group group_by hostname include_vars iptables
known_hosts lineinfile meta mount_facts package package_facts pause ping pip raw reboot replace rpm_key script service service_facts
set_fact set_stats setup shell slurp stat subversion systemd systemd_service sysvinit tempfile template unarchive uri user wait_for
wait_for_connection yum yum_repository acl apache2_module apk archive assemble at authorized_key alternatives blivet bower bundler
capabilities cargo certificate_complete_chain composer consul cpanm crypttab dconf docker_compose docker_container docker_image
docker_image_facts docker_login docker_network docker_node docker_secret docker_service docker_stack docker_swarm docker_volume
easy_install elasticsearch_plugin etcd3 facter filesystem filetree firewalld flatpak flatpak_remote gem github_release git_config
gitlab_runner grafana_dashboard grafana_datasource haproxy helm hg homebrew homebrew_cask htpasswd influxdb_database ini_file
interfaces_file ipmi_boot ipmi_power iso_create java_cert java_keystore jenkins_job jenkins_plugin jenkins_script jira k8s k8s_info
kernel_blacklist keycloak_client kubectl ldap_attr ldap_entry launchd locale_gen logrotate luks_device lvg lvol lxc_container
lxd_container lxd_profile macports mail make memcached modprobe monit mount mysql_db mysql_info mysql_query mysql_replication
mysql_user mysql_variables nagios nmcli nosh npm ohai open_iscsi openssh_keypair openssl_certificate openssl_csr openssl_dhparam
openssl_pkcs12 openssl_privatekey openssl_publickey opkg pacman pam_limits pamd parted patch pear pipx pkgng podman_container
podman_image postgresql_db postgresql_ext postgresql_info postgresql_lang postgresql_owner postgresql_pg_hba postgresql_ping
postgresql_privs postgresql_query postgresql_schema postgresql_set postgresql_slot postgresql_tablespace postgresql_user
proxysql_backend_servers rabbitmq_exchange rabbitmq_parameter rabbitmq_plugin rabbitmq_policy rabbitmq_queue rabbitmq_user
rabbitmq_vhost read_csv redhat_subscription redis rhsm_repository route53 runit s3 say seboolean sefcontext selinux
selinux_permissive selogin seport slack snap snapper sorcery ssh_config sudoers supervisorctl svc swupd synchronize sysctl sysrc
syspatch telegram terraform timezone ufw urpmi vagrant virt virt_net virt_pool vmadm vsphere_guest wakeonlan win_acl
win_certificate_store win_chocolatey win_command win_copy win_domain win_domain_controller win_domain_membership win_domain_user
win_dsc win_environment win_feature win_file win_find win_firewall win_firewall_rule win_format win_get_url win_group
win_group_membership win_hostname win_hotfix win_iis_webapppool win_iis_website win_lineinfile win_msi win_nssm win_package
win_partition win_path win_ping win_powershell win_reboot win_regedit win_region win_robocopy win_say win_scheduled_task win_service
win_share win_shell win_shortcut win_stat win_tempfile win_template win_timezone win_unzip win_updates win_uri win_user
win_user_right win_wait_for win_whoami x509_certificate xattr xbps xfs_quota xml yarn yum_versionlock zabbix_host zfs zfs_facts
zpool_facts zypper zypper_repository
"""

SHORT_NAMES = frozenset(_NAMES.split())

_PREFIXES = """
acme_ aci_ apache2_ aruba_ asa_ aws_ azure_rm_ bigip_ ce_ cloudformation consul_ cs_ digital_ocean docker_ ec2 ecs_ efs elasticache
elb_ eos_ f5_ fortios_ gce gcp_ gitlab_ gluster_ grafana_ hcloud_ hetzner_ iam iam_ idrac_ infini_ influxdb_ ios_ ipa_ ipmi_ jenkins_
junos_ k8s keycloak_ kubevirt_ lambda_ ldap_ linode lxd_ mongodb_ mysql_ na_ netapp_ netbox_ nios_ nxos_ ome_ one_ openssl_ openstack_
os_ ovirt_ panos_ podman_ postgresql_ proxmox proxysql_ purefa_ python_requirements_ rabbitmq_ rax redfish_ redis_ rds_ route53 s3_
sensu_ sns_ sqs_ ucs_ udm_ utm_ vmware_ vsphere_ vultr_ vyos_ win_ xenserver_ zabbix_ zfs_ zuul_
"""
_FAMILIES = tuple(_PREFIXES.split())
"""How names of modules begin that belong to families too large to list."""


def is_known(name: str) -> bool:
    """Whether Ansible or a well-known collection has a module of this short name."""
    return name in SHORT_NAMES or name.startswith(_FAMILIES)

"""Short names of modules that Ansible or its best-known collections have: to tell a module we lack from a typing error."""

from __future__ import annotations

_NAMES = """
add_host apt apt_key apt_repository assemble assert async_status blockinfile command copy cron deb822_repository debconf debug dnf dnf5
dpkg_selections expect fail fetch file find gather_facts get_url getent git group group_by hostname include_vars iptables known_hosts
lineinfile meta mount_facts package package_facts pause ping pip raw reboot replace rpm_key script service service_facts set_fact set_stats
setup shell slurp stat subversion systemd systemd_service sysvinit tempfile template unarchive uri user wait_for wait_for_connection yum
yum_repository
acl aerospike_migrations airbrake_deployment aireos_command aireos_config alternatives apache2_module apconos_command apk apt_repo apt_rpm
archive assemble at authorized_key awall bcf_switch beadm bearychat bigmon_chain bigmon_policy bigpanda blivet bower bundler bzr campfire
capabilities cargo catapult certificate_complete_chain circonus_annotation cisco_spark cli_command cli_config cloud_init_data_facts
cloudflare_dns cloudtrail cloudwatchevent_rule cobbler_sync cobbler_system composer consul cpanm cronvar crypttab cv_server_provision
cyberark_authentication cyberark_user data_pipeline datadog_event datadog_monitor dconf deploy_helper dimensiondata_network
dimensiondata_vlan django_manage dms_endpoint dms_replication_subnet_group dnsimple dnsmadeeasy docker_compose docker_container docker_image
docker_image_facts docker_login docker_network docker_node docker_secret docker_service docker_stack docker_swarm docker_volume
dynamodb_table dynamodb_ttl easy_install edgeswitch_facts edgeswitch_vlan ejabberd_user elasticsearch_plugin emc_vnx_sg_member
eric_eccli_command etcd3 execute_lambda exo_dns_domain exo_dns_record facter faz_device filesystem filetree firewalld flatpak flatpak_remote
flowadm flowdock foreman frr_bgp frr_facts gc_storage gcdns_record gcdns_zone gconftool2 gcpubsub gcpubsub_facts gcpubsub_info gcspanner gem
get_certificate git_config github_release gitlab_runner grafana_dashboard grafana_datasource grove gunicorn haproxy helm heroku_collaborator
hg hipchat homebrew homebrew_cask homebrew_tap honeybadger_deployment hponcfg htpasswd iap_start_workflow iap_token icinga2_feature
icinga2_host ig_config ig_unit_information imc_rest imgadm infinity influxdb_database ini_file installp interfaces_file ip_netns ipify_facts
ipinfoio_facts ipmi_boot ipmi_power ipwcli_dns irc iso_create iso_extract jabber java_cert java_keystore jboss jenkins_job jenkins_plugin
jenkins_script jira k8s k8s_info katello kernel_blacklist keycloak_client kibana_plugin kinesis_stream kubectl lambda launchd layman lbu
ldap_attr ldap_entry librato_annotation lightsail listen_ports_facts lldp locale_gen logentries logentries_msg logicmonitor
logicmonitor_facts logrotate logstash_plugin luks_device lvg lvol lxc_container lxca_cmms lxca_nodes lxd_container lxd_profile macports mail
make mas matrix mattermost maven_artifact memcached mksysb modprobe monit mount mqtt mssql_db mysql_db mysql_info mysql_query
mysql_replication mysql_user mysql_variables nagios nclu netact_cm_command netcup_dns newrelic_deployment nexmo nginx_status_facts
nginx_status_info nictagadm nmcli nosh npm nsupdate nuage_vspk oci_vcn office_365_connector_card ohai omapi_host onepassword_facts
onepassword_info open_iscsi openbsd_pkg opendj_backendprop openshift_raw openshift_scale openssh_cert openssh_keypair openssl_certificate
openssl_csr openssl_dhparam openssl_pkcs12 openssl_privatekey openssl_publickey openwrt_init opkg opx_cps ordnance_config ordnance_facts
osx_defaults osx_say ovirt pacemaker_cluster pacman pagerduty pagerduty_alert pam_limits pamd parted patch pear pids pingdom
pip_package_info pipx pkg5 pkg5_publisher pkgin pkgng pkgutil podman_container podman_image portage portinstall postgresql_db postgresql_ext
postgresql_info postgresql_lang postgresql_owner postgresql_pg_hba postgresql_ping postgresql_privs postgresql_query postgresql_schema
postgresql_set postgresql_slot postgresql_tablespace postgresql_user profitbricks proxysql_backend_servers psexec pubnub_blocks pulp_repo
puppet pushbullet pushover rabbitmq_exchange rabbitmq_parameter rabbitmq_plugin rabbitmq_policy rabbitmq_queue rabbitmq_user rabbitmq_vhost
rds read_csv redhat_subscription redis redshift restconf_config restconf_get rhevm rhn_channel rhn_register rhsm_release rhsm_repository
riak rocketchat rollbar_deployment route53 routeros_command routeros_facts rundeck_acl_policy rundeck_project runit s3 say seboolean
sefcontext selinux selinux_permissive selogin sendgrid seport serverless sl_vm slack slackpkg smartos_image_facts smartos_image_info snap
snapper snmp_facts snow_record snow_record_find sns solaris_zone sorcery spectrum_device spotinst_aws_elastigroup ss_3par_cpg ssh_config
stackdriver stacki_host statusio_maintenance sts_assume_role sts_session_token sudoers supervisorctl svc svr4pkg swdepot swupd synchronize
sysctl syslogger syspatch sysrc taiga_issue telegram telnet terraform timezone twilio typetalk ufw uptimerobot urpmi vagrant vdo vexata_eg
vexata_volume virt virt_net virt_pool vmadm vsphere_guest wakeonlan win_acl win_certificate_store win_chocolatey win_command win_copy
win_domain win_domain_controller win_domain_membership win_domain_user win_dsc win_environment win_feature win_file win_find win_firewall
win_firewall_rule win_format win_get_url win_group win_group_membership win_hostname win_hotfix win_iis_webapppool win_iis_website
win_lineinfile win_msi win_nssm win_package win_partition win_path win_ping win_powershell win_reboot win_regedit win_region win_robocopy
win_say win_scheduled_task win_service win_share win_shell win_shortcut win_stat win_tempfile win_template win_timezone win_unzip
win_updates win_uri win_user win_user_right win_wait_for win_whoami x509_certificate x509_crl x509_crl_info xattr xbps xfconf xfs_quota xml
yarn yum_versionlock zabbix_host zfs zfs_facts znode zpool_facts zypper zypper_repository
"""

SHORT_NAMES = frozenset(_NAMES.split())

_PREFIXES = """
a10_ aci_ acme_ aix_ ali_ apache2_ aruba_ asa_ atomic_ avi_ aws_ azure_rm_ bigip_ bigiq_ bitbucket_ ce_ checkpoint_ clc_ cloudformation
cloudfront_ cloudscale_ cloudwatchlogs_ cnos_ consul_ cp_ cpm_ cs_ dellos10_ dellos6_ dellos9_ digital_ocean dladm_ docker_ ec2 ecs_ edgeos_
efs elasticache elb_ enos_ eos_ exos_ f5_ fmgr_ fortios_ ftd_ gce gcp_ github_ gitlab_ gluster_ grafana_ hcloud_ hetzner_ hpilo_ hwc_ iam
iam_ ibm_ icx_ idrac_ infini_ influxdb_ intersight_ ios_ iosxr_ ipa_ ipadm_ ipmi_ ironware_ jenkins_ junos_ k8s keycloak_ kubevirt_ lambda_
ldap_ linode lxd_ manageiq_ memset_ meraki_ mongodb_ mso_ mysql_ na_ net_ netapp_ netbox_ netconf_ netscaler_ nios_ nos_ nso_ nxos_ ome_
one_ oneandone_ oneview_ online_ onyx_ openssl_ openstack_ openvswitch_ os_ ovh_ ovirt_ packet_ panos_ pn_ podman_ postgresql_ profitbricks_
proxmox proxysql_ purefa_ purefb_ python_requirements_ rabbitmq_ rax rds_ redfish_ redis_ redshift_ route53 s3_ scaleway_ sensu_ sf_
skydive_ slxos_ sns_ sqs_ sros_ tower_ ucs_ udm_ utm_ vca_ vcenter_ vdirect_ vertica_ vmware_ voss_ vr_ vsphere_ vultr_ vyos_ webfaction_
win_ xenserver_ zabbix_ zfs_ zuul_
"""
_FAMILIES = tuple(_PREFIXES.split())
"""How names of modules begin that belong to families too large to list."""


def is_known(name: str) -> bool:
    """Whether Ansible or a well-known collection has a module of this short name."""
    return name in SHORT_NAMES or name.startswith(_FAMILIES)

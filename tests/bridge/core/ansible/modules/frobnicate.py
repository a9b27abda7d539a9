from ansible.module_utils.basic import AnsibleModule

module = AnsibleModule({}, supports_check_mode=True)
module.exit_json(msg="frobnicated", name=module.told["module_name"])

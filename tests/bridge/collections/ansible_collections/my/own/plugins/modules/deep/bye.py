from ansible.module_utils.basic import AnsibleModule
from ...module_utils import words

module = AnsibleModule({})
module.exit_json(msg=f"no {words.GREETING}", main=__name__, package=__package__)

"""As much of what modules import as the tests of the bridge need, written for them."""

import json
import sys

from ansible.module_utils.common.words import joined

_ANSIBLE_ARGS = None
_ANSIBLE_PROFILE = None


class AnsibleModule:
    def __init__(self, argument_spec, supports_check_mode=False):
        given = json.loads(_ANSIBLE_ARGS)["ANSIBLE_MODULE_ARGS"]
        assert _ANSIBLE_PROFILE == "legacy"
        self.params = {name: given.get(name, option.get("default")) for name, option in argument_spec.items()}
        self.told = {name[9:]: value for name, value in given.items() if name.startswith("_ansible_")}
        self.check_mode = self.told["check_mode"]
        self.tmpdir = self.told["tmpdir"]
        unknown = [name for name in given if name not in argument_spec and not name.startswith("_ansible_")]
        if unknown:
            self.fail_json(msg="Unsupported parameters: " + joined(unknown))
        if self.check_mode and not supports_check_mode:
            self.exit_json(skipped=True, msg="no check mode")

    def exit_json(self, **result):
        print(json.dumps(result))
        sys.exit(0)

    def fail_json(self, **result):
        print(json.dumps({"failed": True, **result}))
        sys.exit(1)

from ansible.module_utils.basic import AnsibleModule
from ..module_utils.words import GREETING


def main():
    from ansible_collections.my.own.plugins.module_utils.moved import GREETING as again

    module = AnsibleModule({"name": {"default": "world"}})
    module.exit_json(msg=f"{GREETING} {module.params['name']}", again=again)


if __name__ == "__main__":
    main()

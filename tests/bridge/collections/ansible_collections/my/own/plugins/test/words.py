from ansible_collections.my.own.plugins.module_utils.words import GREETING


class TestModule:
    def tests(self):
        return {"quiet": lambda value: value == GREETING}

class FilterModule:
    def filters(self):
        return {"loud": lambda value: value.upper() + "!"}

raise ImportError("nobody may import the controller's side of an ansible-core")

# Two commands on a fresh Debian or Ubuntu machine do all the set-up:
#
#   make demo   brings up two throw-away nodes here and turns them into GPU nodes (simulated GPUs)
#   make test   runs the tests
#
# Both install what they need: Debian packages by apt (as root, or through sudo) and Python packages into .venv.

SHELL := /bin/bash
VENV  := .venv
BIN   := $(VENV)/bin
PEERS := .venv-peers
SUDO  := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

# What nodes, containers and a real sshd need on this machine.
PACKAGES := python3-venv git ca-certificates openssh-server openssh-client sshpass sudo gnupg dpkg-dev apt-utils iproute2 kmod procps \
	mmdebstrap debian-archive-keyring systemd-container docker.io cron acl file unzip zip xz-utils zstd rsync $(VAGRANT)

# Only the tests of the Vagrantfile need it; say VAGRANT=vagrant to have it installed as well.
VAGRANT :=

.DEFAULT_GOAL := help
.PHONY: help demo demo-down test test-fast language lint types format peers packages check benchmark clean

help: ## Show what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

packages: $(VENV)/.packages
$(VENV)/.packages: Makefile
	@missing=$$(for name in $(PACKAGES); do dpkg-query -W -f '$${db:Status-Status}' $$name 2>/dev/null | grep -qx installed || echo $$name; done); \
	if [ -n "$$missing" ]; then \
	  echo "installing:" $$missing; \
	  $(SUDO) apt-get update -q && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing; \
	fi
	@mkdir -p $(VENV) && touch $@

$(VENV)/.ready: pyproject.toml $(VENV)/.packages
	python3 -m venv $(VENV)
	$(BIN)/pip install -qq --disable-pip-version-check --editable '.[dev]' --config-settings editable_mode=compat
	@touch $@

peers: $(PEERS)/.ready ## Install the tools we are compared with (ansible-core, Mitogen, pyinfra)
$(PEERS)/.ready: pyproject.toml $(VENV)/.packages
	python3 -m venv $(PEERS)
	$(PEERS)/bin/pip install -qq --disable-pip-version-check 'ansible-core==2.19.*' 'mitogen>=0.3.20' 'pyinfra>=3.2'
	@touch $@

demo: $(VENV)/.ready ## Two throw-away nodes, provisioned, verified
	@$(SUDO) $(BIN)/python -m provisioner.lab.demo

demo-down: $(VENV)/.ready ## Take the demo's nodes away
	@$(SUDO) $(BIN)/provision lab down

test: $(VENV)/.ready $(PEERS)/.ready ## All tests; as root also those that need nodes
	PROVISION_PEERS=$(abspath $(PEERS))/bin $(BIN)/pytest -n 2 -m 'not nodes' $(TESTS)
	PROVISION_PEERS=$(abspath $(PEERS))/bin $(BIN)/pytest -m nodes $(TESTS)

test-fast: $(VENV)/.ready ## Only the tests that need neither nodes nor peers
	$(BIN)/pytest -m 'not nodes and not peers' $(TESTS)

language: $(VENV)/.ready $(PEERS)/.ready ## All language playbooks by stock and by us, as root
	PROVISION_PEERS_FULL=1 PROVISION_PEERS=$(abspath $(PEERS))/bin $(BIN)/pytest -n 2 tests/differential/test_language.py

lint: $(VENV)/.ready ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready ## mypy, strict
	$(BIN)/mypy

format: $(VENV)/.ready ## Bring the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

check: lint types test ## What CI runs

benchmark: $(VENV)/.ready $(PEERS)/.ready ## Measure against the peers and the floor
	$(SUDO) env PROVISION_PEERS=$(abspath $(PEERS))/bin $(BIN)/python benchmarks/compare.py
	$(SUDO) $(BIN)/python benchmarks/latency.py

clean: ## Remove what was installed here
	rm -rf $(VENV) $(PEERS) .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info build

"""A program for the interpreter of ansible-core: ansible-playbook many times over, in forked children, without its start-up each time.

Reads jobs as lines of JSON, ``{"folder", "arguments", "outcomes", "output"}``, and answers each with the exit code. What a child does to
plugins, caches and settings ends with it, so a run knows nothing of the ones before.
"""

from __future__ import annotations

import json
import os
import sys

from ansible.cli.playbook import main


def child(job: dict[str, str]) -> None:
    """Be ansible-playbook; ends the process."""
    os.chdir(job["folder"])
    os.environ["OUTCOMES"] = job["outcomes"]
    output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    sys.argv = ["ansible-playbook", *job["arguments"]]
    try:
        code = main() or 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    sys.stdout.flush()
    os._exit(code)  # a usual end would remove the folder for temporary files, which the parent made and the next child needs


for line in sys.stdin:
    process = os.fork()
    if process == 0:
        child(json.loads(line))
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)

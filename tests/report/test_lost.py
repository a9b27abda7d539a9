"""Hosts that were lost are called what they are: out of reach, held by another run, cut by an interrupt."""

from __future__ import annotations

import io

from provisioner.events import HostLost, Record, Stats
from provisioner.report.summary import write_summary
from provisioner.report.text import Paper


def test_the_summary_says_how_hosts_were_lost() -> None:
    record = Record("apply")
    record.hosts = {name: Stats(unreachable=1) for name in ("a", "b", "c")}
    record.lost = [
        HostLost("a", "no route"),
        HostLost("b", "another run holds this node: ann@laptop", kind="locked"),
        HostLost("c", "the run is over", kind="interrupted"),
    ]
    out = io.StringIO()
    paper = Paper(out, color=False, width=100)
    write_summary(paper, record, {}, lambda hosts: f"again {','.join(hosts)}")
    paper.flush()
    text = out.getvalue()
    assert "SUMMARY 3 hosts: 1 unreachable, 1 locked, 1 interrupted" in text
    assert "\nUNREACHABLE\n  a: no route" in text
    assert "\nLOCKED by another run\n  b: another run" in text
    assert "\nINTERRUPTED in the middle of a step\n  c: the run is over" in text
    assert "retry: again a,b,c" in text

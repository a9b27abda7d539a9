"""What stock did with the language cases, kept in ``recorded/TOPIC.json`` so that a test run need not ask it about every case again.

A record names the version of ansible-core and the digest of the case: a case that was edited has no record until it is recorded anew.
``PROVISION_PEERS_FULL=1 pytest tests/differential/test_language.py`` asks stock about all cases instead, and

    python -m tests.differential.records [NAME...]

records those that have no valid record (or the ones named), over both connections.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.differential import stock
from tests.differential.cases import Case, read
from tests.differential.connections import CONNECTIONS, settings_of
from tests.differential.outcomes import Outcome, of_stock

FOLDER = Path(__file__).parent / "recorded"
CORE = "2.19"
"""The ansible-core that the language is compared with; any version of it may record."""


def load(topic: str) -> dict[str, Any]:
    """The records of a topic: case → digest, core, and one outcome a connection."""
    path = FOLDER / f"{topic}.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}


def recorded(case: Case, connection: str) -> Outcome:
    """What stock did. Raises ``LookupError`` when that is not recorded, or was recorded of another text."""
    record = load(case.topic).get(case.name.partition("/")[2])
    if record is None or record["digest"] != case.digest or not record["core"].startswith(CORE):
        raise LookupError(f"{case.name} is not recorded as it is now: run python -m tests.differential.records")
    found = record[connection]
    return Outcome(**(record[found] if isinstance(found, str) else found))


def ask(case: Case, folder: Path, runner: stock.Forker | None, settings: Mapping[str, str]) -> Outcome:
    """What stock does now, in a folder that must not exist yet; by the program itself, or by a forker."""
    case.write(folder)
    arguments = ["-i", "inventory.ini", *case.args, "site.yml"]
    ran = runner.run(folder, arguments) if runner is not None else stock.run(folder, arguments, settings)
    return of_stock(ran, folder)


def store(case: Case, outcomes: Mapping[str, Outcome]) -> None:
    """Put the outcomes of a case into the records; equal ones are kept once."""
    first, *others = CONNECTIONS
    record: dict[str, Any] = {"core": stock.version(), "digest": case.digest, first: vars(outcomes[first])}
    for other in others:
        record[other] = first if outcomes[other] == outcomes[first] else vars(outcomes[other])
    known = {**load(case.topic), case.name.partition("/")[2]: record}
    there = {path.stem for path in case.path.parent.glob("*.yml")}
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{case.topic}.json").write_text(_text({name: known[name] for name in sorted(known) if name in there}))


def _text(records: Mapping[str, Any]) -> str:
    """JSON with a line for each row, so that a difference shows what changed."""
    return "{\n" + ",\n".join(f"{_json(name)}: {_record(record)}" for name, record in records.items()) + "\n}\n"


def _record(record: Mapping[str, Any]) -> str:
    parts = [f" {_json(key)}: {_outcome(value) if isinstance(value, Mapping) else _json(value)}" for key, value in record.items()]
    return "{\n" + ",\n".join(parts) + "\n}"


def _outcome(outcome: Mapping[str, Any]) -> str:
    rows = "".join(f"\n  {_json(row)}," for row in outcome["rows"]).removesuffix(",")
    return f'{{"exit": {_json(outcome["exit"])}, "stats": {_json(outcome["stats"])}, "rows": [{rows}]}}'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def main(names: Iterable[str]) -> None:
    """Record."""
    wanted = [case for name, case in read().items() if name in set(names) or (not names and not _valid(case))]
    found: dict[str, dict[str, Outcome]] = {case.name: {} for case in wanted}
    for connection in CONNECTIONS:
        with settings_of(connection) as settings, tempfile.TemporaryDirectory() as base:
            runner = stock.Forker({**settings, "ANSIBLE_HOME": f"{base}/home"})
            for number, case in enumerate(wanted):
                found[case.name][connection] = ask(case, Path(base) / str(number) / "project", runner, settings)
                sys.stderr.write(f"{connection} {case.name}\n")
            runner.close()
    for case in wanted:
        store(case, found[case.name])


def _valid(case: Case) -> bool:
    try:
        recorded(case, CONNECTIONS[0])
    except LookupError:
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1:])

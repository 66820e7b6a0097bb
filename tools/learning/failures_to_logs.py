#!/usr/bin/env python3
"""Turns a list of failed calls into Claude Code logs, so that `throughline detect` can run on it.

Usage: failures_to_logs.py FAILURES.jsonl[.gz] FOLDER
Then:  throughline ingest --agent claude --root FOLDER --home HOME
       throughline detect --home HOME

Each line of the input has `session`, `t` (time), `kind` (`cmd`, `tool` or `file`), `what` (the
command or the tool) and `out` (what it printed).
"""

import collections
import datetime
import gzip
import json
import pathlib
import sys
import uuid


def entry(session, at, role, content):
    number = uuid.uuid5(uuid.NAMESPACE_OID, f"{session}{at}{role}{json.dumps(content)}")
    return {
        "type": role,
        "uuid": str(number),
        "sessionId": session,
        "timestamp": at,
        "cwd": "/code/repository",
        "version": "2.1.0",
        "message": {"role": role, "content": content},
    }


def call_and_result(row, number):
    """Returns the two entries of a failed call; the result comes five seconds after the call."""
    kind, what = row["kind"], row["what"]
    if kind == "cmd":
        tool, arguments = "Bash", {"command": what}
    else:
        tool, _, path = what.partition(" ")
        arguments = {"file_path": path} if path else {}
    call = f"toolu_{row['session']}_{number:06}"
    ended = datetime.datetime.fromisoformat(row["t"].replace("Z", "+00:00"))
    began = (ended - datetime.timedelta(seconds=5)).isoformat().replace("+00:00", "Z")
    use = {"type": "tool_use", "id": call, "name": tool, "input": arguments}
    result = {"type": "tool_result", "tool_use_id": call, "content": row["out"], "is_error": True}
    session = row["session"]
    return [
        entry(session, began, "assistant", [use]),
        entry(session, row["t"], "user", [result]),
    ]


def main():
    source, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    opened = gzip.open(source, "rt") if source.suffix == ".gz" else open(source)
    sessions = collections.defaultdict(list)
    with opened as lines:
        for line in lines:
            row = json.loads(line)
            sessions[row["session"]].append(row)
    folder.mkdir(parents=True, exist_ok=True)
    for session, rows in sessions.items():
        rows.sort(key=lambda row: row["t"])
        first = rows[0]["t"]
        entries = [entry(session, first, "user", "A session of which only the failures are known.")]
        for number, row in enumerate(rows):
            entries += call_and_result(row, number)
        entries.append(entry(session, rows[-1]["t"], "assistant", [{"type": "text", "text": "End."}]))
        text = "".join(json.dumps(one) + "\n" for one in entries)
        (folder / f"{session}.jsonl").write_text(text)


if __name__ == "__main__":
    main()

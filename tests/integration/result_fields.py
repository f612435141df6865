#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every field of a result is known everywhere: what `airlock run --json` prints is in the Python binding and in the manual page,
and what MCP's run_command shows a model is in its schema, or this says where it is missing. Prints TAP.

    result_fields.py BUILD
"""
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(TOP / "tests"), str(TOP / "bindings/python")]
os.environ["AIRLOCK_LIBRARY"] = str(Path(sys.argv[1]).resolve() / "libairlock.so.0")
from airlock.results import Change, ExecuteResult  # noqa: E402
from mcp_client import Client, main, program, test  # noqa: E402

EXACT = "_base64"  # beside a path that is not UTF-8; the bindings put it into the path


def is_field(name):
    return not name.endswith(EXACT)


def properties(schema):
    """The members that a schema names, through anyOf and items; None: any."""
    for part in (schema, *schema.get("anyOf", ())):
        if part.get("type") == "array":
            return properties(part["items"])
        if "properties" in part:
            return part["properties"]
    return None


def not_in_schema(value, schema, path=""):
    """Members of a value that the schema does not name."""
    known = properties(schema)
    for item in value if isinstance(value, list) else [value]:
        for name, member in item.items() if isinstance(item, dict) and known is not None else ():
            if not is_field(name):
                continue
            if name not in known:
                yield path + name
            elif isinstance(member, (dict, list)):
                yield from not_in_schema(member, known[name], f"{path}{name}.")


def names_of(value):
    """The names of all members of a value, at any depth."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            for name, member in item.items():
                yield name
                yield from names_of(member)


def missing(result, shown, schema):
    """Where a field of the result is not known, one line each."""
    for name in not_in_schema(shown, schema):
        yield f"{name} is not in the schema of run_command (mcp/catalog.c)"
    for kind, value in ((ExecuteResult, result), (Change, result["changes"]["files"][0])):
        known = {field.name.removeprefix("renamed_") for field in dataclasses.fields(kind)}  # "from" is a word of Python
        for name in filter(is_field, value.keys() - known):
            yield f"{name} is not a field of {kind.__name__} (bindings/python/airlock/results.py)"
    page = "".join((TOP / f"docs/man/airlock-{name}.1.scd").read_text() for name in ("run", "changes"))
    for name in filter(is_field, dict.fromkeys(names_of(result))):
        if f"*{name}*".replace("_", "\\_") not in page:
            yield f"{name} is not in airlock-run(1) or airlock-changes(1) (docs/man)"


def run_and_schema(place):
    command = "echo new >made; mkdir ~/made; exit 3"
    done = subprocess.run([program(), "run", "--json", "--explain-denials", "--session", "work", "-c", command],
                          cwd=place.project, env=place.env, stdout=subprocess.PIPE, text=True)
    with Client(place) as client:
        client.initialize()
        tools = client.request("tools/list")["result"]["tools"]
        shown = client.run(command)["structuredContent"]
    return json.loads(done.stdout), shown, next(tool["outputSchema"] for tool in tools if tool["name"] == "run_command")


@test
def every_field_of_a_result_is_known_everywhere(place):
    result, shown, schema = run_and_schema(place)
    assert result["denials"] and result["changes"]["files"], result
    faults = list(missing(result, shown, schema))
    assert not faults, "\n".join(faults)


@test
def a_new_field_is_missed_everywhere(place):
    result, shown, schema = run_and_schema(place)
    result["brand_new"] = shown["brand_new"] = 1
    result["usage"]["also_new"] = 1
    places = sorted(fault.split(" is not ")[0] + ":" + fault.split("(")[-1] for fault in missing(result, shown, schema))
    assert len(places) == 4 and {place.split(":")[0] for place in places} == {"brand_new", "also_new"}, places


if __name__ == "__main__":
    sys.exit(main())

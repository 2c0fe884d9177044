#!/usr/bin/env python3
"""The job type NAME: a scan, one local job for each value of a range.

jjm calls it without arguments, writes a JSON object to its standard input, and reads one
from its standard output. Called with "run VALUE", it is what each local job runs.
"""
import json
import subprocess
import sys
import os

SETTINGS = [
    {"name": "from", "type": "number", "required": True, "help": "the first value"},
    {"name": "to", "type": "number", "required": True, "help": "the last value"},
    {"name": "steps", "type": "whole number", "default": 10, "min": 2, "max": 1000,
     "help": "how many values"},
]


def describe(_request):
    """What the type is: asked once."""
    return {"protocol": 1, "summary": "a scan: one local job for each value of a range",
            "settings": SETTINGS,
            "example": 'type = "NAME"\n[params]\nfrom = 0.0\nto = 1.0\nsteps = 3\n'}


def plan(request):
    """How one grid job is done: asked when it is accepted."""
    given = request["settings"]
    if given["to"] <= given["from"]:
        return {"problems": [{"field": "params.to", "text": "must be above from"}]}
    most = request["site"]["max_local_jobs"]
    if given["steps"] > most:
        return {"problems": [{"field": "params.steps",
                              "text": "the site allows %d local jobs: ask for fewer steps" % most}]}
    width = (given["to"] - given["from"]) / (given["steps"] - 1)
    values = [given["from"] + i * width for i in range(given["steps"])]
    return {"plan": {
        "why": ["%d values, %g apart" % (len(values), width)],
        "rows": [["%.6g" % v] for v in values],
        "command": ["NAME.py", "run", "{args}"],
        "outputs": ["value.txt"],
        "inputs": [{"path": "NAME.py", "executable": True}],
        "ends": [{"exit_codes": [os.EX_TEMPFAIL], "action": "retry",
                  "text": "it could not be done now"}],
    }}


def run(value):
    """What a local job does, on its worker."""
    with open("value.txt", "w") as out:
        out.write("%s squared is %g\n" % (value, float(value) ** 2))
    subprocess.run([os.environ["GBS_LOG"], "INFO", "processed=1 rows"], check=True)


def main():
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2])
        return
    request = json.load(sys.stdin)
    answer = {"describe": describe, "plan": plan}[request["verb"]](request)
    json.dump(answer, sys.stdout)


main()

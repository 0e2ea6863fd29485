"""What schemathesis has to be told about this API; schemathesis.toml names this file."""

import hashlib
import json
import os
from collections import defaultdict
from itertools import count

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase

RECEIVER = os.environ["POSTHASTE_RECEIVER"]

# Ids of what there is, by the names of the parameters of a path.
KNOWN = json.loads(os.environ["POSTHASTE_KNOWN"])

TURNS = defaultdict(count)

DAY_SECONDS = 24 * 60 * 60

# Not of what there is; they find names of it in earlier answers.
DESTROYING = {"deleteQueue", "unsubscribe", "eraseBody", "importSubscriptions"}


@schemathesis.hook
def before_call(context, case, kwargs):
    only_to_this_machine(case)
    if is_any_valid_path(case):
        to_what_there_is(case)


def only_to_this_machine(case):
    """Whoever is made a subscriber is called: a receiver of this run's own, and nobody else."""
    body = case.body
    if not isinstance(body, dict):
        return
    subscriber = body.get("subscriber")
    if isinstance(subscriber, str) and subscriber.lower().startswith(("http:", "https:")):
        digest = hashlib.sha256(subscriber.encode("utf-8", "surrogatepass")).hexdigest()
        case.body = {**body, "subscriber": f"{RECEIVER}/{digest[:16]}"}


def is_any_valid_path(case):
    """Not of the stateful phase, which follows the ids that it was answered."""
    if case.meta is None or case.meta.phase.name == TestPhase.STATEFUL:
        return False
    path = case.meta.components.get(ParameterLocation.PATH)
    return path is not None and path.mode.is_positive


def to_what_there_is(case):
    """Random ids lead nowhere: every second request goes to something that is there, and it stays there."""
    operation = case.operation.definition.raw["operationId"]
    if operation in DESTROYING:
        case.path_parameters = {
            name: f"not-{value}" if value == KNOWN.get(name) else value for name, value in case.path_parameters.items()
        }
    elif next(TURNS[operation]) % 2 == 0:
        keep_it_for_the_run(case)
        case.path_parameters = {name: KNOWN.get(name, value) for name, value in case.path_parameters.items()}


def keep_it_for_the_run(case):
    """A subscription that lives for a second would be gone for all that comes after."""
    ttl = case.body.get("ttl") if isinstance(case.body, dict) else None
    if type(ttl) is int and 0 < ttl < DAY_SECONDS:
        case.body = {**case.body, "ttl": DAY_SECONDS}


@schemathesis.serializer("application/jsonl")
def json_lines(context, value):
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "surrogatepass")

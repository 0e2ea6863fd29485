"""Keeps ministack usable on a busy machine: serves with uvicorn, does the same work once, waits for a free instance of a
function before it starts another, and collects all log lines of a function."""

import copy
import functools
import json
import queue
import sys
import threading
import time
import types

import hypercorn.asyncio as hypercorn
import ministack.app as gateway
import ministack.core.iam_actions as iam_actions
import ministack.core.iam_evaluator as iam_evaluator
import ministack.core.lambda_runtime as lambda_runtime
import ministack.core.sigv4 as sigv4
import ministack.services.dynamodb as dynamodb
import ministack.services.lambda_svc as functions
import uvicorn

REPLACED = [
    (hypercorn, ("serve",)),
    (gateway, ("_with_date_header", "extract_access_key_id")),
    (iam_actions, ("json",)),
    (dynamodb, ("_tokenize", "_condition_syntax_error", "_number_error", "_ddb_canonicalize_number", "copy")),
    (sigv4, ("_amz_datetime",)),
    (functions, ("acquire_worker", "release_worker")),
    (iam_evaluator, ("parse_policy_document", "fnmatch_iam", "request_caller_arn", "resolve_credential")),
    (lambda_runtime, ("Worker", "_NODEJS_WORKER_SCRIPT", "_workers", "_worker_key")),
    (getattr(lambda_runtime, "Worker", lambda_runtime), ("_drain_stderr_bounded",)),
]


def apply_corrections():
    serve_with_uvicorn()
    cache_parsed_texts()
    check_callers_once()
    copy_items_fast()
    prefer_free_instances()
    collect_all_log_lines()


# --- HTTP: hypercorn and its parser, both in Python, take a third of ministack's time ---------------------------


def serve_with_uvicorn():
    """uvicorn's parser, httptools, is compiled."""

    async def serve(app, config):
        host, port = config.bind[0].rsplit(":", 1)
        settings = {"timeout_keep_alive": int(config.keep_alive_timeout), "lifespan": "on", "ws": "none"}
        unwanted = {"proxy_headers": False, "server_header": False, "access_log": False, "log_config": None}
        await uvicorn.Server(uvicorn.Config(app, host, int(port), **settings, **unwanted)).serve()

    hypercorn.serve = serve
    gateway._with_date_header = lambda send: send  # uvicorn adds the date


# --- Cache parsed expressions and policies: parsing them per request takes a tenth of ministack's time ------

# A deployment has a few hundred expressions and policies. Cached values are never modified.
cached = functools.lru_cache(maxsize=1024)


def cache_parsed_texts():
    dynamodb._tokenize = cached(dynamodb._tokenize)
    dynamodb._condition_syntax_error = cached(dynamodb._condition_syntax_error)
    dynamodb._number_error = cached_for_texts(dynamodb._number_error)
    dynamodb._ddb_canonicalize_number = cached_for_texts(dynamodb._ddb_canonicalize_number)
    sigv4._amz_datetime = cached(sigv4._amz_datetime)
    iam_evaluator.fnmatch_iam = cached(iam_evaluator.fnmatch_iam)
    iam_evaluator.parse_policy_document = cached_for_texts(iam_evaluator.parse_policy_document)


def cached_for_texts(read):
    """Other values may be unhashable."""
    read_text = cached(read)
    return lambda value: (read_text if isinstance(value, str) else read)(value)


# --- Permission checks: ministack gathers the caller's policies twice, and parses a request up to four times -----------


def check_callers_once():
    def caller_arn(headers, query_params=None):
        """Policies of resources name the caller; enforce() gathers its own policies afterwards."""
        credential = iam_evaluator.resolve_credential(gateway.extract_access_key_id(headers, query_params))
        return getattr(credential, "principal_arn", "")

    iam_evaluator.request_caller_arn = caller_arn
    # The checks of a request only read, and none of another request comes between them.
    parse_last = functools.lru_cache(maxsize=1)(json.loads)
    iam_actions.json = types.SimpleNamespace(**{**vars(json), "loads": parse_last})


# --- DynamoDB items: copying them takes a twentieth of ministack's time ---------------------------------------


def copy_items_fast():
    dynamodb.copy = types.SimpleNamespace(deepcopy=copied)


def copied(value):
    """Items are JSON. Anything else is copied as before."""
    if type(value) is dict:
        return {name: copied(inner) for name, inner in value.items()}
    if type(value) is list:
        return [copied(inner) for inner in value]
    return value if type(value) is str else copy.deepcopy(value)


# --- Instances: ministack starts one for each concurrent invocation, and a start takes longer than most invocations ---

# As long as a start takes. A function that invokes itself waits for nothing.
WAIT_FOR_INSTANCE_SECONDS = 0.25


def prefer_free_instances():
    acquire, release = functions.acquire_worker, functions.release_worker
    released = threading.Condition()

    def acquired(name, config, code, qualifier="$LATEST", **limits):
        key = lambda_runtime._worker_key(name, config, qualifier)

        def is_one_free():
            instances = lambda_runtime._workers.get(key)
            return not instances or any(not instance.in_use for instance in list(instances))

        with released:
            released.wait_for(is_one_free, WAIT_FOR_INSTANCE_SECONDS)
            return acquire(name, config, code, qualifier=qualifier, **limits)

    def released_one(worker):
        with released:
            release(worker)
            released.notify_all()

    functions.acquire_worker, functions.release_worker = acquired, released_one


# --- Logs: ministack stops reading 5 ms after a line, so later lines appear with the next run or are lost -----

ANSWER = '_realStdoutWrite(JSON.stringify({ status: "ok", result: res }) + "\\n");'
END = "end of the lines of this run"
LONGEST_WAIT_SECONDS = 1


def collect_all_log_lines():
    """Node functions write an end marker before their response. For failures and other runtimes, ministack's wait is kept."""
    script, drain = lambda_runtime._NODEJS_WORKER_SCRIPT, lambda_runtime.Worker._drain_stderr_bounded
    if script.count(ANSWER) != 1:
        sys.exit("ministack's script for functions has changed: log lines would be lost")
    lambda_runtime._NODEJS_WORKER_SCRIPT = script.replace(ANSWER, f'process.stderr.write("{END}\\n"); {ANSWER}')

    def drained(self, **limits):
        if self._proc is None or not self.config.get("Runtime", "").startswith("nodejs"):
            return drain(self, **limits)
        lines, deadline = [], time.monotonic() + LONGEST_WAIT_SECONDS
        try:
            while (line := self._stderr_queue.get(timeout=max(0, deadline - time.monotonic()))) != END:
                lines.append(line)
        except queue.Empty:
            pass
        return "\n".join(lines)

    lambda_runtime.Worker._drain_stderr_bounded = drained

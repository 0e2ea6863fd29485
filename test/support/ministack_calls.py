"""Logs the calls of functions to the local AWS, one JSON object per line, to the file named by POSTHASTE_CALL_LOG.

  {"kind": "use", ...}         the first permission check of a principal for an action on a resource, and its result
  {"kind": "call", ...}        every call of a function: its size, and the units that AWS charges
  {"kind": "invocation", ...}  every invocation of a function: its records, CPU time and log size
  {"kind": "fired", ...}       every schedule that EventBridge Scheduler invoked

Entries contain billed quantities and keys, but no message, record or header. The file named by POSTHASTE_USE_LOG gets the
first kind alone, which takes a tenth less of ministack's time. Without these variables nothing is replaced.
"""

import functools
import json
import os
import threading
import time

import ministack.app as gateway
import ministack.core.iam_evaluator as iam_evaluator
import ministack.core.lambda_runtime as lambda_runtime
import ministack.services.cloudwatch_logs as logs
import ministack.services.dynamodb as dynamodb
import ministack.services.eventbridge as eventbridge
import ministack.services.lambda_svc as functions
import ministack.services.sts as sts
from ministack_weights import weigh_dynamodb, weigh_refused_write, weigh_sqs, weight

REPLACED = [
    (gateway, ("_dispatch_service_request", "extract_access_key_id", "detect_service", "_routing_params")),
    (iam_evaluator, ("enforce",)),
    (lambda_runtime, ("Worker",)),
    (getattr(lambda_runtime, "Worker", lambda_runtime), ("invoke",)),
    (logs, ("_append_log_events",)),
    (dynamodb, ("_add_consumed_capacity", "_item_size_bytes", "_capacity_kb", "_get_item_by_key", "_tables")),
    (eventbridge, ("_invoke_target",)),
    (functions, ("_execute_function_dispatch",)),
    (sts, ("_sessions",)),
]

# Bytes that CloudWatch Logs adds to each event (PutLogEvents, "batch size").
LOG_EVENT_OVERHEAD = 26

current_run = threading.local()


def write_calls(path):
    write = lines_of(path)
    write_permission_checks(write)
    weigh_dynamodb()
    write_requests(write)
    write_invocations(write)
    write_schedule_runs(write)


def write_uses(path):
    write_permission_checks(lines_of(path))


def lines_of(path):
    out = open(path, "a", buffering=1, encoding="utf-8")
    lock = threading.Lock()

    def write(kind, **entry):
        line = json.dumps({"kind": kind, "at": int(time.time() * 1000), **entry}, separators=(",", ":"))
        with lock:
            out.write(line + "\n")

    return write


def caller_of(access_key):
    """The ARN of the assumed-role session of a function; None for other callers."""
    session = sts._sessions.get(access_key or "")
    return session["Arn"] if session else None


# --- Permission checks ---------------------------------------------------------------------------------


def write_permission_checks(write):
    enforce = iam_evaluator.enforce
    seen = set()

    @functools.wraps(enforce)
    def enforced(access_key, action, service, region, resource_arn="*", service_context=None):
        denied = enforce(access_key, action, service, region, resource_arn, service_context)
        if (found := weight.get()) is not None:
            found.setdefault("action", action)
        caller = caller_of(access_key)
        use = (caller, action, resource_arn, denied is None)
        if caller and use not in seen:
            seen.add(use)
            write("use", caller=caller, action=action, resource=resource_arn, allowed=denied is None)
        return denied

    iam_evaluator.enforce = enforced


# --- Calls of functions, and their billing units -------------------------------------------------------


def write_requests(write):
    dispatch = gateway._dispatch_service_request

    async def dispatched(method, path, headers, body, query_params, request_id):
        caller = caller_of(gateway.extract_access_key_id(headers, query_params))
        if caller is None:
            return await dispatch(method, path, headers, body, query_params, request_id)
        found = {}
        token = weight.set(found)
        try:
            answer = await dispatch(method, path, headers, body, query_params, request_id)
        finally:
            weight.reset(token)
        routing = gateway._routing_params(method, path, headers, body, query_params)
        service = gateway.detect_service(method, path, headers, routing)
        action = found.pop("action", method)
        operation = headers.get("x-amz-target", "").rpartition(".")[2] or action.rpartition(":")[2]
        if service == "sqs":
            found = weigh_sqs(body)
        elif service == "dynamodb" and answer[0] == 400:
            found = weigh_refused_write(operation, body, answer[2])
        repeat = "attempt=1" not in headers.get("amz-sdk-request", "attempt=1")
        write("call", caller=caller, service=service, operation=operation, status=answer[0], repeat=repeat,
              requestBytes=len(body), responseBytes=size_of(answer[2]), **found)
        return answer

    gateway._dispatch_service_request = dispatched


def size_of(body):
    return len(body) if isinstance(body, (bytes, str)) else 0


# --- Invocations of functions --------------------------------------------------------------------------


def cpu_ns(pid):
    """CPU time of a process's threads from the kernel's scheduler statistics; None if not available."""
    try:
        total = 0
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as stat:
                total += int(stat.read().split()[0])
        return total
    except OSError:
        return None


def write_invocations(write):
    execute = functions._execute_function_dispatch
    invoke = lambda_runtime.Worker.invoke
    append = logs._append_log_events
    known = set()

    def invoked(self, *args, **kwargs):
        process = self._proc
        before = cpu_ns(process.pid) if process and process.pid in known else 0
        result = invoke(self, *args, **kwargs)
        after = cpu_ns(self._proc.pid) if self._proc else None
        run = getattr(current_run, "found", None)
        if run is not None and self._proc:
            run["cold"] = self._proc.pid not in known
            run["cpuMs"] = None if before is None or after is None else round((after - before) / 1e6, 3)
            known.add(self._proc.pid)
        return result

    def appended(stream, events):
        run = getattr(current_run, "found", None)
        if run is not None:
            run["logBytes"] += sum(len(event["message"].encode()) + LOG_EVENT_OVERHEAD for event in events)
        return append(stream, events)

    def executed(func, config, event, request_id, started):
        current_run.found = run = {"cold": False, "cpuMs": None, "logBytes": 0}
        try:
            return execute(func, config, event, request_id, started)
        finally:
            current_run.found = None
            write("invocation", function=config.get("FunctionName"), memoryMegabytes=config.get("MemorySize"),
                  ms=int((time.time() - started) * 1000), **received_by(event), **run)

    lambda_runtime.Worker.invoke = invoked
    logs._append_log_events = appended
    functions._execute_function_dispatch = executed


def received_by(event):
    records = event.get("Records", []) if isinstance(event, dict) else []
    if not records or "eventSourceARN" not in records[0]:
        return {"records": 0, "recordBytes": 0}
    texts = [record.get("body", "") for record in records]
    return {"queue": records[0]["eventSourceARN"], "records": len(records),
            "recordBytes": sum(len(text.encode()) for text in texts)}


def write_schedule_runs(write):
    send = eventbridge._invoke_target

    def sent(target, event, *rest):
        if event.get("Source") == "aws.scheduler":
            write("fired", target=target.get("Arn"))
        return send(target, event, *rest)

    eventbridge._invoke_target = sent

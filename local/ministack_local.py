"""Starts ministack, the local AWS, and corrects the differences from AWS that matter to Posthaste.

No file of ministack is changed: module globals and CloudFormation handlers are replaced before main() runs.
Written for ministack 1.5.33. The start fails if a replaced name does not exist.

AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY set the root keys (ministack_access.py). Other settings are variables of
ministack (GATEWAY_PORT, BIND_HOST, AUTH, LOG_LEVEL, ...).
The process stops with all its children when its standard input closes, so nothing outlives the parent process.
"""

import json
import os
import signal
import sys
import threading
import time
import types

import ministack.app as gateway
import ministack.core.iam_actions as iam_actions
import ministack.services.apigateway as http_apis
import ministack.services.cloudformation.provisioners as provisioners
import ministack.services.dynamodb as dynamodb
import ministack.services.lambda_svc as functions
import ministack.services.scheduler as scheduler
import ministack_access
import ministack_schedules
import ministack_under_load

REPLACED = [*ministack_access.REPLACED, *ministack_schedules.REPLACED, *ministack_under_load.REPLACED]

WRITTEN_FOR = "this launcher is for ministack 1.5.33"


def expect(module, *names):
    missing = [name for name in names if not hasattr(module, name)]
    if missing:
        sys.exit(f"{module.__name__}: {', '.join(missing)} not found; {WRITTEN_FOR}")


def check_replaced_names():
    for module, names in REPLACED:
        expect(module, *names)
    expect(gateway, "main")
    expect(iam_actions, "extract_iam_action")
    expect(http_apis, "_path_matches", "_match_route")
    expect(scheduler, "_SCHEDULE_TICK_INTERVAL", "_ticker_loop")
    expect(dynamodb, "_ttl_reaper", "_update_ttl", "_ttl_settings")
    expect(functions, "_functions", "_put_function_concurrency", "_delete_function_concurrency", "_reserved_concurrency")
    expect(functions, "_esm_wake", "_poll_loop", "_ESM_IDLE_WAKE_GAP_SECONDS")
    expect(provisioners, "_RESOURCE_HANDLERS", "_physical_name", "_cfn_bool", "_cw_metric_alarm_record", "get_account_id", "get_region")
    ticks = "_SCHEDULE_TICK_INTERVAL" in scheduler._ticker_loop.__code__.co_names
    polls = "_esm_wake" in functions._poll_loop.__code__.co_names
    if not (ticks and polls and 60 in dynamodb._ttl_reaper.__code__.co_consts):
        sys.exit(f"ministack's scheduler, TTL or poll loop has changed; {WRITTEN_FOR}")


# --- Stop with the parent process ---------------------------------------------------------------------


def stop_with_parent():
    """Stops when standard input closes: the parent process has ended. This process leads its group, so it kills the group."""

    def wait():
        while os.read(0, 1024):
            pass
        if os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True, name="stop-with-parent").start()


# --- Scheduler and SQS: shorter poll intervals, so that schedules and delayed messages are on time ---------


def shorten_poll_intervals():
    scheduler._SCHEDULE_TICK_INTERVAL = 0.25  # ministack: 10 s
    wake = functions._esm_wake
    functions._esm_wake = types.SimpleNamespace(
        set=wake.set, clear=wake.clear, wait=lambda timeout: wake.wait(min(timeout, 0.05))  # ministack: 1 s
    )
    # The end of an invocation is a wake that usually finds nothing. A message that comes next would wait so long (0.05).
    functions._ESM_IDLE_WAKE_GAP_SECONDS = 0.005


# --- DynamoDB TTL: a second sweep with a shorter interval ----------------------------------------------


def add_frequent_ttl_sweep():
    clock = types.SimpleNamespace(time=time.time, sleep=lambda _seconds: time.sleep(1))  # ministack: 60 s
    sweep = types.FunctionType(dynamodb._ttl_reaper.__code__, {**vars(dynamodb), "time": clock})
    threading.Thread(target=sweep, daemon=True, name="ttl-sweep").start()


# --- CloudFormation: template properties that ministack ignores --------------------------------------


def after_change_of(resource_type, apply):
    """Calls apply(physical_id, properties) after each create and update of a resource type."""
    handler = provisioners._RESOURCE_HANDLERS[resource_type]

    def wrap(inner, position):  # create(logical_id, props, ...), update(physical_id, old, new, ...)
        def wrapped(*args):
            result = inner(*args)
            apply(result[0], args[position])
            return result

        return wrapped

    handler["create"] = wrap(handler["create"], 1)
    handler["update"] = wrap(handler["update"], 2)


def set_ttl(table, properties):
    specification = properties.get("TimeToLiveSpecification")
    if not specification:
        dynamodb._ttl_settings.pop(table, None)
        return
    enabled = provisioners._cfn_bool(specification.get("Enabled", True))
    dynamodb._update_ttl({"TableName": table, "TimeToLiveSpecification": {**specification, "Enabled": enabled}})


def set_reserved_concurrency(name, properties):
    reserved = properties.get("ReservedConcurrentExecutions")
    if reserved is None:
        functions._delete_function_concurrency(name)
    else:
        functions._put_function_concurrency(name, {"ReservedConcurrentExecutions": int(reserved)})


def apply_ignored_properties():
    after_change_of("AWS::DynamoDB::Table", set_ttl)
    after_change_of("AWS::DynamoDB::GlobalTable", set_ttl)
    after_change_of("AWS::Lambda::Function", set_reserved_concurrency)


# --- Lambda: the reserved concurrency of a function, which ministack does not find for a version or an alias ---


def reserve_for_all_versions():
    def reserved_concurrency(_func, config):
        return functions._functions[config["FunctionName"]].get("concurrency")

    functions._reserved_concurrency = reserved_concurrency


# --- CloudFormation: accept observability resources that ministack refuses, without evaluating them ---


def plain_alarm(properties):
    """Replaces metric math or a labelled metric by its first metric, with alarm actions disabled."""
    if not properties.get("Metrics"):
        return properties
    stat = next((m["MetricStat"] for m in properties["Metrics"] if m.get("MetricStat")), {})
    metric = stat.get("Metric") or {"Namespace": "math", "MetricName": "math"}
    plain = {key: value for key, value in properties.items() if key != "Metrics"}
    plain.update(
        Namespace=metric["Namespace"],
        MetricName=metric["MetricName"],
        Dimensions=metric.get("Dimensions", []),
        Period=stat.get("Period", 60),
        ActionsEnabled=False,
    )
    name = stat.get("Stat", "Sum")
    plain["ExtendedStatistic" if name[:1].islower() else "Statistic"] = name
    return plain


def placeholder(name_property, arn, attribute):
    def create(logical_id, properties, stack_name):
        name = properties.get(name_property) or provisioners._physical_name(stack_name, logical_id, max_len=255)
        region, account = provisioners.get_region(), provisioners.get_account_id()
        return name, {attribute: arn.format(region=region, account=account, name=name)}

    return {"create": create, "delete": lambda physical_id, properties: None}


def accept_observability():
    alarm_record = provisioners._cw_metric_alarm_record
    provisioners._cw_metric_alarm_record = lambda name, properties: alarm_record(name, plain_alarm(properties))
    alarm_arn = "arn:aws:cloudwatch:{region}:{account}:alarm:{name}"
    handlers = provisioners._RESOURCE_HANDLERS
    handlers.setdefault("AWS::CloudWatch::CompositeAlarm", placeholder("AlarmName", alarm_arn, "Arn"))
    handlers.setdefault("AWS::Logs::QueryDefinition", placeholder("Name", "{name}", "QueryDefinitionId"))


# --- AUTH: SQS authorises a batch by the action for a single message -----------------------------------------


def authorise_batches_as_single_messages():
    extract = iam_actions.extract_iam_action

    def iam_action(service, *request):
        action = extract(service, *request)
        return action.removesuffix("Batch") if service == "sqs" and action else action

    iam_actions.extract_iam_action = iam_action


# --- HTTP APIs: a greedy path variable also matches a path that ends with a slash -----------------------


def match_trailing_slash():
    matches = http_apis._path_matches

    def path_matches(route_path, request_path):
        is_greedy_root = route_path.endswith("/{proxy+}") and request_path == route_path.removesuffix("{proxy+}")
        return is_greedy_root or matches(route_path, request_path)

    http_apis._path_matches = path_matches


def apply_corrections():
    check_replaced_names()
    stop_with_parent()
    shorten_poll_intervals()
    ministack_schedules.support_universal_sqs_target()
    add_frequent_ttl_sweep()
    apply_ignored_properties()
    reserve_for_all_versions()
    accept_observability()
    ministack_schedules.authorise_schedules_in_their_group()
    authorise_batches_as_single_messages()
    match_trailing_slash()
    ministack_access.require_keys()
    ministack_under_load.apply_corrections()


if __name__ == "__main__":
    apply_corrections()
    gateway.main()

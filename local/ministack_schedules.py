"""Corrects EventBridge Scheduler: the universal target for SQS, its role and dead letters, and schedule groups in
permission checks."""

import json

import ministack.core.iam_actions as iam_actions
import ministack.core.iam_evaluator as iam_evaluator
import ministack.services.eventbridge as eventbridge
import ministack.services.sqs as sqs

REPLACED = [
    (eventbridge, ("_invoke_target", "get_region")),
    (iam_actions, ("extract_resource_arn",)),
    (iam_evaluator, ("pin_request_origin", "EvalContext", "evaluate", "_gather_role_policies")),
    (sqs, ("_act_send_message",)),
]

# --- Scheduler: the universal target, which ministack lacks, for SQS SendMessage only --------------------------

SEND_MESSAGE = ":scheduler:::aws-sdk:sqs:sendMessage"


def support_universal_sqs_target():
    invoke = eventbridge._invoke_target

    def called(target, event, *rest):
        if not target["Arn"].endswith(SEND_MESSAGE):
            return invoke(target, event, *rest)
        # Scheduler uses TLS, which the queue's policy requires.
        iam_evaluator.pin_request_origin("127.0.0.1", True)
        request = json.loads(target["Input"])
        try:
            require_permission(target["RoleArn"], request["QueueUrl"])
            return sqs._act_send_message(request, "")
        except Exception as error:
            return send_dead_letter(target, event, request["QueueUrl"], error)

    eventbridge._invoke_target = called


def require_permission(role_arn, queue_url):
    account, queue = queue_url.split("/")[-2:]
    queue_arn = f"arn:aws:sqs:{eventbridge.get_region()}:{account}:{queue}"
    context = iam_evaluator.EvalContext(
        role_arn, "AssumedRole", account, "sqs:SendMessage", queue_arn, eventbridge.get_region()
    )
    policies = iam_evaluator._gather_role_policies(role_arn.rpartition("/")[2], account)
    if iam_evaluator.evaluate(context, policies).decision != "Allow":
        raise PermissionError(f"{role_arn} is not authorized to perform sqs:SendMessage on {queue_arn}")


def send_dead_letter(target, event, queue_url, error):
    """As Scheduler does after its retries, here at once ("Configuring a schedule's dead-letter queue", user guide)."""
    dead_letters = target.get("DeadLetterConfig", {}).get("Arn", "").rpartition(":")[2]
    if not dead_letters:
        return None
    url = f"{queue_url.rpartition('/')[0]}/{dead_letters}"
    require_permission(target["RoleArn"], url)
    attributes = {
        "ERROR_CODE": type(error).__name__,
        "ERROR_MESSAGE": str(error),
        "SCHEDULE_ARN": event["Resources"][0],
        "TARGET_ARN": target["Arn"],
    }
    values = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
    return sqs._act_send_message({"QueueUrl": url, "MessageBody": target["Input"], "MessageAttributes": values}, "")


# --- AUTH: check a schedule in its group; ministack assumes the group "default" --------------------------


def authorise_schedules_in_their_group():
    extract = iam_actions.extract_resource_arn

    def resource_arn(service, method, path, headers, body, query_params, region, account_id):
        arn = extract(service, method, path, headers, body, query_params, region, account_id)
        if service != "scheduler" or ":schedule/default/" not in arn:
            return arn
        group = (query_params or {}).get("groupName")
        if not group and method in ("POST", "PUT"):
            group = json.loads(body or b"{}").get("GroupName")
        group = group[0] if isinstance(group, list) else group
        return arn.replace(":schedule/default/", f":schedule/{group or 'default'}/", 1)

    iam_actions.extract_resource_arn = resource_arn

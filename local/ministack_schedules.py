"""Corrects EventBridge Scheduler: the universal target for SQS, and schedule groups in permission checks."""

import json

import ministack.core.iam_actions as iam_actions
import ministack.core.iam_evaluator as iam_evaluator
import ministack.services.eventbridge as eventbridge
import ministack.services.sqs as sqs

REPLACED = [
    (eventbridge, ("_invoke_target",)),
    (iam_actions, ("extract_resource_arn",)),
    (iam_evaluator, ("pin_request_origin",)),
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
        return sqs._act_send_message(json.loads(target["Input"]), "")

    eventbridge._invoke_target = called


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

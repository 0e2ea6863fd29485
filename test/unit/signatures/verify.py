"""Reads lines of requests from standard input and prints for each line which verify: v1 by the official library, v1a by libsodium."""

import base64
import json
import sys

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey
from standardwebhooks.webhooks import Webhook, WebhookVerificationError


def verifies_v1(secret, body, headers):
    try:
        Webhook(secret).verify(body, headers, json_parse=False)
        return True
    except WebhookVerificationError:
        return False


def verifies_v1a(public_key, body, headers):
    """Implements v1a as specified, because the official library supports only v1."""
    key = VerifyKey(base64.b64decode(public_key.removeprefix("whpk_"), validate=True))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    given = [one.split(",", 1) for one in headers["webhook-signature"].split(" ")]
    return any(
        is_signed(key, signed, base64.b64decode(signature, validate=True))
        for version, signature in given
        if version == "v1a"
    )


def is_signed(key, signed, signature):
    try:
        key.verify(signed, signature)
        return True
    except BadSignatureError:
        return False


def verdict(request):
    key, body, headers = request["key"], base64.b64decode(request["body"]), request["headers"]
    verifies = verifies_v1a if key.startswith("whpk_") else verifies_v1
    return verifies(key, body, headers)


for line in sys.stdin:
    print(json.dumps([verdict(request) for request in json.loads(line)]), flush=True)

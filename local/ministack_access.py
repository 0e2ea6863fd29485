"""Lets nobody but the holders of this start's keys call the local AWS.

Its functions are code that runs on this machine, so calling it has to be as hard as opening a shell here. ministack serves
every web page and every local user: it knows callers without a key, with the key "test" and with any account number as root, checks
none of root's signatures, and makes the keys of functions from public names.

  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY   root's keys, random for each start
"""

import hashlib
import hmac
import json
import os
import re
import secrets
import types
from urllib.parse import parse_qs

import ministack.app as gateway
import ministack.core.iam_evaluator as iam_evaluator
import ministack.core.lambda_runtime as lambda_runtime
import ministack.services.sts as sts
from ministack.core.sigv4 import decode_header_value

REPLACED = [
    (gateway, ("app", "pin_signed_request", "extract_access_key_id", "_parse_execute_api_url")),
    (iam_evaluator, ("pin_signed_request", "_is_root_key", "find_iam_access_key_account")),
    (lambda_runtime, ("execution_credentials", "hashlib")),
    (sts, ("_sessions",)),
]

# A name of a page's own that resolves to 127.0.0.1 (DNS rebinding) is none of these.
OUR_HOST = re.compile(r"(127\.0\.0\.1|([a-z0-9._-]+\.)?localhost)(:\d+)?")
CONTROL_ROUTES = ("/_ministack/", "/_localstack/")
# Policies that demand TLS would deny every request.
PASS_FOR_TLS = (b"x-forwarded-proto", b"https")


def let_in_key_holders_only():
    check_signatures_of_root()
    make_keys_of_functions_secret()
    refuse_all_others(os.environ["AWS_ACCESS_KEY_ID"])


def check_signatures_of_root():
    pin = iam_evaluator.pin_signed_request
    names = {**vars(iam_evaluator), "_is_root_key": lambda _key: False}
    gateway.pin_signed_request = types.FunctionType(pin.__code__, names, None, pin.__defaults__)


def make_keys_of_functions_secret():
    """They are hashes of the names of function and role, which CloudFormation here makes the same for everybody."""
    salt = secrets.token_bytes(32)
    lambda_runtime.hashlib = types.SimpleNamespace(sha256=lambda data: hashlib.sha256(salt + data))


def refuse_all_others(root_key):
    inner = gateway.app

    async def app(scope, receive, send):
        if scope["type"] == "websocket":  # no service that Posthaste uses has any
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await inner(scope, receive, send)
            return
        refused = refusal(scope, root_key)
        if refused is not None:
            await refuse(send, *refused)
            return
        await inner({**scope, "headers": [*scope["headers"], PASS_FOR_TLS]}, receive, without_cors(send))

    gateway.app = app


def refusal(scope, root_key):
    """The code and the message of the error with which a request is refused; None for one that ministack may answer."""
    headers = {}  # as ministack reads them
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), decode_header_value(value)
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    if not OUR_HOST.fullmatch(headers.get("host", "")):
        return "AccessDeniedException", "The local AWS answers to 127.0.0.1 and names of localhost only."
    if "origin" in headers or headers.get("sec-fetch-site", "none") != "none":
        return "AccessDeniedException", "The local AWS answers no web page."
    path = scope["path"]
    if path.startswith(CONTROL_ROUTES):
        return "AccessDeniedException", "The local AWS is controlled by the program that started it only."
    query = parse_qs(scope["query_string"].decode("utf-8", "replace"), keep_blank_values=True)
    key = gateway.extract_access_key_id(headers, query)
    if key == "" and gateway._parse_execute_api_url("", path) is not None:
        return None  # whether an API takes unsigned calls is a setting of its own
    if key == "" or not is_issued(key, root_key):
        return "UnrecognizedClientException", "The local AWS takes the keys of .local/endpoints.json, new at each start."
    return None


def is_issued(key, root_key):
    """Whether the key is root's, a session's or an IAM user's. That it signed the request is checked by ministack."""
    if hmac.compare_digest(key.encode(), root_key.encode()):
        return True
    return key in sts._sessions or iam_evaluator.find_iam_access_key_account(key) is not None


async def refuse(send, code, message):
    body = json.dumps({"__type": code, "message": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def without_cors(send):
    async def sent(message):
        if message["type"] == "http.response.start":
            kept = [header for header in message["headers"] if not header[0].lower().startswith(b"access-control-")]
            message = {**message, "headers": kept}
        await send(message)

    return sent

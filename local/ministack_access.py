"""Restricts the local AWS to callers that hold one of its keys.

A Lambda function of the local AWS runs as a process of the user: a caller that may create one has all permissions of the
user. Without this module, ministack serves every web page and every local user. It accepts the key "test" and account numbers
as root keys, does not verify signatures of root, and derives the keys of functions from names that are the same everywhere.

  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY   root keys, random for each start
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

# Refuses DNS rebinding: a web page whose host name resolves to 127.0.0.1.
LOCAL_HOST = re.compile(r"(127\.0\.0\.1|([a-z0-9._-]+\.)?localhost)(:\d+)?")
# In lower case, as ASGI passes them.
JUDGED = (b"host", b"origin", b"sec-fetch-site", b"authorization")
# Browsers open the page of the portal, which has no credentials of the local AWS.
PORTAL = re.compile(r"/_aws/execute-api/[^/]+/[^/]+/portal(/.*)?")
CONTROL_ROUTES = ("/_ministack/", "/_localstack/")
# Policies that require TLS would deny every request.
PASS_FOR_TLS = (b"x-forwarded-proto", b"https")


def require_keys():
    verify_signatures_of_root()
    salt_keys_of_functions()
    check_every_request(os.environ["AWS_ACCESS_KEY_ID"])


def verify_signatures_of_root():
    pin = iam_evaluator.pin_signed_request
    names = {**vars(iam_evaluator), "_is_root_key": lambda _key: False}
    gateway.pin_signed_request = types.FunctionType(pin.__code__, names, None, pin.__defaults__)


def salt_keys_of_functions():
    """Makes function keys unpredictable: they are hashes of ARNs, and ministack generates the same names on every machine."""
    salt = secrets.token_bytes(32)
    lambda_runtime.hashlib = types.SimpleNamespace(sha256=lambda data: hashlib.sha256(salt + data))


def check_every_request(root_key):
    inner = gateway.app

    async def app(scope, receive, send):
        if scope["type"] != "http":  # the start and the end: the server opens no WebSocket
            await inner(scope, receive, send)
            return
        refused = refusal(scope, root_key)
        if refused is not None:
            await refuse(send, *refused)
            return
        await inner({**scope, "headers": [*scope["headers"], PASS_FOR_TLS]}, receive, without_cors(send))

    gateway.app = app


def refusal(scope, root_key):
    """Error code and message of a refused request; None for an allowed one."""
    headers = {}  # joined in the same way as in ministack
    for name, value in scope["headers"]:
        if name in JUDGED:
            key, text = name.decode(), decode_header_value(value)
            headers[key] = f"{headers[key]}, {text}" if key in headers else text
    if not LOCAL_HOST.fullmatch(headers.get("host", "")):
        return "AccessDeniedException", "The host name of the local AWS must be 127.0.0.1 or localhost."
    path = scope["path"]
    is_portal = PORTAL.fullmatch(path) is not None and "authorization" not in headers
    if not is_portal and ("origin" in headers or headers.get("sec-fetch-site", "none") != "none"):
        return "AccessDeniedException", "The local AWS rejects requests from web pages."
    if path.startswith(CONTROL_ROUTES):
        return "AccessDeniedException", "The control routes of ministack are disabled."
    query = parse_qs(scope["query_string"].decode("utf-8", "replace"), keep_blank_values=True)
    key = gateway.extract_access_key_id(headers, query)
    if key == "" and gateway._parse_execute_api_url("", path) is not None:
        return None  # the authorisation of the API decides
    if key == "" or not is_issued(key, root_key):
        return "UnrecognizedClientException", "Unknown access key. The keys change with each start: see endpoints.json."
    return None


def is_issued(key, root_key):
    """Whether the key belongs to root, a session or an IAM user. ministack verifies the signature afterwards."""
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

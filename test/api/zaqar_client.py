"""Checks the API with python-zaqarclient. Arguments: the URLs of the API and of a subscriber. Fails by raising."""

import sys

from zaqarclient import errors as client_errors
from zaqarclient.queues import client as queues
from zaqarclient.transport import errors

API, SUBSCRIBER = sys.argv[1:]
QUEUE = "zaqar-orders"
POLICY = {"retries_with_no_delay": 1, "minimum_delay": 2, "maximum_delay": 20}


def expect(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")


def expect_refused(error, call):
    try:
        call()
    except error:
        return
    raise AssertionError(f"{error.__name__} was expected")


def connect():
    # The proxy signs the requests. Zaqar's two headers have no effect.
    return queues.Client(API, version=2, conf={"auth_opts": {"backend": "noauth"}})


def service(client):
    expect(client.ping(), True)
    expect(client.health()["status"], "ok")
    expect("/v2/queues/{queue}" in client.homedoc()["resources"], True)


def queue_with_policy(client):
    expect(client.queue(QUEUE, auto_create=False).exists(), False)
    queue = client.queue(QUEUE, force_create=True)
    expect(queue.exists(), True)
    expect(queue.metadata(new_meta={"_retry_policy": POLICY, "team": "billing"})["_retry_policy"], POLICY)
    # The client sends a patch that removes what the new metadata omits.
    queue.metadata(new_meta={"_retry_policy": POLICY, "region": "eu"})
    expect(queue.metadata(force_reload=True), {"_retry_policy": POLICY, "region": "eu"})
    wrong = {"_retry_policy": {"minimum_delay": 0}}
    expect_refused(errors.MalformedRequest, lambda: queue.metadata(new_meta=wrong))
    expect(queue.metadata(force_reload=True)["_retry_policy"], POLICY)
    return queue


def subscriptions(client, queue):
    made = [
        client.subscription(QUEUE, subscriber=f"{SUBSCRIBER}/zaqar-{number}", ttl=3600, options={"raw_delivery": True})
        for number in range(3)
    ]
    expect(made[0].confirmed, True)
    expect(made[0].ttl, 3600)
    expect_refused(
        errors.ConflictError,
        lambda: client.subscription(QUEUE, subscriber=f"{SUBSCRIBER}/zaqar-0", ttl=60),
    )
    made[0].update({"ttl": 7200, "options": {"_retry_policy": {"backoff_retries": 2}}})
    read = client.subscription(QUEUE, id=made[0].id)
    expect((read.ttl, read.options), (7200, {"_retry_policy": {"backoff_retries": 2}}))
    listed = [one.id for one in queue.subscriptions(limit=1).stream()]
    expect(sorted(listed), sorted(one.id for one in made))
    return made


def messages(queue):
    posted = queue.post([{"body": {"total": 1}, "ttl": 300}, {"body": "text"}])
    expect(len(posted["resources"]), 2)
    expect(len(queue.post({"body": [1, 2], "delay": 1})["resources"]), 1)


def listing(client):
    client.queue(f"{QUEUE}-2", force_create=True)
    found, _ = client.queues(limit=1, detailed=True)
    by_name = {queue.name: queue.metadata() for queue in found.stream()}
    expect(by_name[QUEUE]["region"], "eu")
    expect(f"{QUEUE}-2" in by_name, True)
    plain, _ = client.queues()
    expect(QUEUE in [queue.name for queue in plain], True)


def deleting(client, queue, made):
    made[0].delete()
    expect_refused(errors.ResourceNotFound, lambda: client.subscription(QUEUE, id=made[0].id))
    expect(len(list(queue.subscriptions())), 2)
    queue.delete()
    client.queue(f"{QUEUE}-2", auto_create=False).delete()
    expect(queue.exists(), False)


def main():
    client = connect()
    service(client)
    queue = queue_with_policy(client)
    made = subscriptions(client, queue)
    messages(queue)
    listing(client)
    deleting(client, queue, made)
    expect_refused(client_errors.ZaqarError, lambda: queue.metadata(force_reload=True))


main()

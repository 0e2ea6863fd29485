"""Billing units of a call: bytes of SQS messages, and capacity units of DynamoDB."""

import contextvars
import functools
import json

import ministack.services.dynamodb as dynamodb

# Units of the current call; None if the call is not logged.
weight = contextvars.ContextVar("weight", default=None)


def weigh_sqs(body):
    """Bytes that SQS charges: bodies and attributes of the messages, without the rest of the request."""
    asked = json.loads(body or b"{}")
    messages = asked.get("Entries", [asked] if "MessageBody" in asked else [])
    return {"messages": len(messages), "messageBytes": sum(message_bytes(message) for message in messages)}


def message_bytes(message):
    attributes = message.get("MessageAttributes") or {}
    texts = [message.get("MessageBody", "")]
    for name, value in attributes.items():
        texts += [name, value.get("DataType", ""), value.get("StringValue", "")]
    return sum(len(text.encode()) for text in texts)


def weigh_dynamodb():
    """Uses ministack's write units, which match AWS (including indexes); computes read units from item sizes."""
    add = dynamodb._add_consumed_capacity

    @functools.wraps(add)
    def added(result, data, table_name, write=False, old_item=None, new_item=None, index_name=None):
        add(result, data, table_name, write, old_item, new_item, index_name)
        found = weight.get()
        if found is None:
            return
        found["table"] = table_name
        if write:
            asked = {}
            add(asked, {**data, "ReturnConsumedCapacity": "INDEXES"}, table_name, True, old_item, new_item)
            capacity = asked["ConsumedCapacity"]
            indexes = capacity.get("GlobalSecondaryIndexes", {})
            found.update(
                item=key_of(table_name, new_item or old_item),
                itemBytes=dynamodb._item_size_bytes(new_item or old_item or {}),
                writeUnits=capacity["Table"]["CapacityUnits"],
                indexWriteUnits={name: entry["CapacityUnits"] for name, entry in indexes.items()},
            )
        elif "FilterExpression" not in data:
            items = result.get("Items") or [result.get("Item") or {}]
            # A projection costs as much as whole items ("Query", DynamoDB API reference). Without keys these are unknown.
            if "ProjectionExpression" in data:
                items = [dynamodb._get_item_by_key(dynamodb._tables[table_name], item) for item in items if item]
                if None in items:
                    return
            read = sum(dynamodb._item_size_bytes(item) for item in items)
            if "Key" in data:
                found["item"] = key_of(table_name, data["Key"])
            found["readUnits"] = max(1, -(-read // 4096)) * (1 if data.get("ConsistentRead") else 0.5)

    dynamodb._add_consumed_capacity = added


def weigh_refused_write(operation, body, answer):
    """A refused conditional write is charged for the existing item (DynamoDB, "Conditional writes")."""
    if b"ConditionalCheckFailed" not in bytes(answer or b"") or operation not in ("PutItem", "UpdateItem", "DeleteItem"):
        return {}
    asked = json.loads(body)
    table = dynamodb._tables.get(asked["TableName"], {})
    item = dynamodb._get_item_by_key(table, asked.get("Key") or asked["Item"]) or {}
    size = dynamodb._item_size_bytes(item)
    return {"table": asked["TableName"], "refused": True, "item": key_of(asked["TableName"], item), "itemBytes": size,
            "writeUnits": dynamodb._capacity_kb(size), "indexWriteUnits": {}}


def key_of(table_name, item):
    table = dynamodb._tables.get(table_name, {})
    names = [name for name in (table.get("pk_name"), table.get("sk_name")) if name]
    return " ".join(next(iter((item or {}).get(name, {"": ""}).values())) for name in names)

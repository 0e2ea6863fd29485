import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { Publisher } from 'posthaste/client';

const OUTBOX = 'outbox#';

const publisher = new Publisher({ queueUrl: process.env['INGRESS_QUEUE_URL'] ?? '' });

/**
 * Publishes the new outbox rows of the table's stream. If it fails, Lambda repeats the batch: a message has the id of
 * its row, so subscribers are not called twice. In CDK: `new DynamoEventSource(table, { startingPosition: LATEST,
 * bisectBatchOnError: true, retryAttempts: 10, onFailure })`.
 */
export async function handler({ Records }: DynamoDBStreamEvent): Promise<void> {
  await publisher.publishBatch(Records.flatMap(messageOf));
}

type OutboxRow = { pk: string; queue: string; type: string; data: unknown };

function messageOf({ eventName, dynamodb }: DynamoDBRecord) {
  if (eventName !== 'INSERT' || dynamodb?.NewImage === undefined) return [];
  const row = unmarshall(dynamodb.NewImage as Record<string, AttributeValue>) as OutboxRow;
  if (!row.pk.startsWith(OUTBOX)) return [];
  const { pk, queue, type, data } = row;
  return [{ queue, id: pk.slice(OUTBOX.length), type, data }];
}

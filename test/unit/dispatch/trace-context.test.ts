import { subscriberOf } from '../../../shared/domain/subscription/destination.ts';
import type { SQSRecord } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { dispatchRecord } from '../../../functions/dispatch/ingress-record.ts';
import { aBarePolicy, aQueue, aSubscription } from '../../support/builders.ts';
import { inMemoryReferencedData } from '../../support/in-memory/in-memory-referenced-data.ts';
import { pipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' };

const record = (): SQSRecord => ({
  messageId: 'sqs-1',
  receiptHandle: 'handle',
  body: '{"queue": "orders", "id": "message-1", "data": 1}',
  attributes: {
    ApproximateReceiveCount: '1',
    SentTimestamp: '1000',
    SenderId: 'sender',
    ApproximateFirstReceiveTimestamp: '1000',
  },
  messageAttributes: Object.fromEntries(
    Object.entries(trace).map(([name, stringValue]) => [name, { dataType: 'String', stringValue }]),
  ),
  md5OfBody: '',
  eventSource: 'aws:sqs',
  eventSourceARN: 'arn:aws:sqs:eu-central-1:111122223333:ingress',
  awsRegion: 'eu-central-1',
});

/** The headers of the first attempt and of a retry. */
const headersWith = async (tracing: boolean) => {
  const world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
  const subscription = aSubscription({
    options: { _retry_policy: aBarePolicy({ minimum_delay_retries: 1 }) },
  });
  await world.subscriptions.addSubscription(subscription);
  world.subscriber.script(subscriberOf(subscription.destination), [status(500), status(200)]);
  const { dispatchContext } = world;
  const context = {
    ...dispatchContext,
    ports: { ...dispatchContext.ports, referencedData: inMemoryReferencedData() },
    settings: { ...dispatchContext.settings, payloadSources: [], ingressRoutes: {}, tracing },
  };
  await dispatchRecord(context, record());
  await world.clock.run();
  return world.subscriber.seen.map(({ request }) => request.headers);
};

describe('the trace of a message', () => {
  it('is in the headers of every attempt with the setting tracing', async () => {
    const [first, retry] = await headersWith(true);
    expect(first).toMatchObject(trace);
    expect(retry).toMatchObject(trace);
  });

  it('is not passed on without the setting', async () => {
    const headers = await headersWith(false);
    expect(headers).toHaveLength(2);
    for (const one of headers) expect(Object.keys(one)).not.toContain('traceparent');
  });
});

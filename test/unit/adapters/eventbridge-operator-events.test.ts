import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { afterEach, describe, expect, it } from 'vitest';
import {
  EventRefusedError,
  eventBridgeOperatorEvents,
} from '../../../shared/adapters/eventbridge/operator-events.ts';
import { awsStub, type AwsStub, type StubAnswer } from '../../support/aws-stub.ts';

let stub: AwsStub | undefined;

afterEach(async () => {
  await stub?.close();
});

const publishing = async (answer: StubAnswer) => {
  stub = await awsStub(() => answer);
  const { requests, config } = stub;
  const events = eventBridgeOperatorEvents(new EventBridgeClient(config), {
    busName: 'operator-bus',
    deployment: 'Posthaste',
  });
  const published = events.publish({
    type: 'subscription.failing',
    queue: 'orders',
    subscriptionId: 's-1',
    since: 0,
    failures: 20,
  });
  return { published, requests };
};

const accepted = { FailedEntryCount: 0, Entries: [{ EventId: 'e-1' }] };

describe('an operator event', () => {
  it('is put on the bus of the deployment, with the source posthaste', async () => {
    const { published, requests } = await publishing({ body: JSON.stringify(accepted) });
    await published;
    expect(requests.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      {
        Entries: [
          {
            EventBusName: 'operator-bus',
            Source: 'posthaste',
            DetailType: 'subscription.failing',
            Detail:
              '{"deployment":"Posthaste","queue":"orders","subscriptionId":"s-1","since":"1970-01-01T00:00:00.000Z","failures":20}',
          },
        ],
      },
    ]);
  });

  it('that the bus refused in a successful response is reported as an error', async () => {
    const refused = { FailedEntryCount: 1, Entries: [{ ErrorCode: 'ThrottlingException' }] };
    const { published } = await publishing({ body: JSON.stringify(refused) });
    await expect(published).rejects.toThrow(
      new EventRefusedError('subscription.failing', 'ThrottlingException'),
    );
  });

  it('that EventBridge failed is reported as an error', async () => {
    const { published } = await publishing({ status: 500, body: '{"__type":"InternalException"}' });
    await expect(published).rejects.toMatchObject({ name: 'InternalException' });
  });
});

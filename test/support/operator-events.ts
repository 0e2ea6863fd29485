import { afterAll, beforeAll } from 'vitest';
import { openOperatorInbox, type OperatorInbox } from '../../local/operator-inbox.ts';
import type { OperatorEventMessage } from '../../shared/wire/events/operator-event.ts';
import { deployment } from './deployment.ts';
import { eventually } from './eventually.ts';

/**
 * Keeps the operator events of the deployed system while the tests of a file run. The returned function waits for the
 * first event of a type about a queue.
 */
export const operatorEvents = () => {
  const events: OperatorEventMessage[] = [];
  let inbox: OperatorInbox;

  beforeAll(async () => {
    inbox = await openOperatorInbox(deployment.client, deployment.endpoints.operatorEventBus);
  });

  afterAll(() => inbox.close());

  return (queue: string, type: OperatorEventMessage['detail-type']): Promise<OperatorEventMessage> =>
    eventually(`${type} of ${queue}`, async () => {
      events.push(...(await inbox.take()));
      return events.find((event) => event['detail-type'] === type && event.detail.queue === queue);
    });
};

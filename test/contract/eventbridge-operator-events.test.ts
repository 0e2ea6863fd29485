import { afterAll, beforeAll } from 'vitest';
import { openOperatorInbox, type OperatorInbox } from '../../local/operator-inbox.ts';
import {
  eventBridgeClient,
  eventBridgeOperatorEvents,
} from '../../shared/adapters/eventbridge/operator-events.ts';
import type { OperatorEventMessage } from '../../shared/wire/events/operator-event.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { describeOperatorEventsContract } from './operator-events.contract.ts';

const eventBridge = eventBridgeClient(deployment.client);
const busName = deployment.endpoints.operatorEventBus;
/** Used only by this file: the deployed functions publish on the same bus. */
const DEPLOYMENT = 'contract';

let inbox: OperatorInbox;

beforeAll(async () => {
  inbox = await openOperatorInbox(deployment.client, busName);
});
afterAll(() => inbox.close());

describeOperatorEventsContract('on EventBridge', () =>
  Promise.resolve({
    operatorEvents: eventBridgeOperatorEvents(eventBridge, { busName, deployment: DEPLOYMENT }),
    heard: async (count) => {
      const heard: OperatorEventMessage[] = [];
      await eventually(`${count} events`, async () => {
        const taken = await inbox.take();
        heard.push(...taken.filter(({ detail }) => detail.deployment === DEPLOYMENT));
        return heard.length >= count ? heard : undefined;
      });
      return heard.map(eventOf);
    },
  }),
);

const TIMES = ['at', 'since', 'until', 'nextAt', 'expiresAt'];

/** The event as seen by a listener, who does not get the bucket. */
const eventOf = ({ 'detail-type': type, detail }: OperatorEventMessage): unknown => {
  const { deployment: _, queue, subscriptionId, ...others } = detail;
  const fields = Object.entries(others).map(([name, value]): [string, unknown] => [
    name,
    TIMES.includes(name) ? Date.parse(String(value)) : value,
  ]);
  const { messageId, ...rest } = Object.fromEntries(fields);
  const ids = { queue, subscriptionId };
  return { type, ...rest, ...(messageId === undefined ? ids : { key: { ...ids, messageId, bucket: 0 } }) };
};

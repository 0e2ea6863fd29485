import { afterAll, beforeAll } from 'vitest';
import { openOperatorInbox, type OperatorInbox } from '../../local/operator-inbox.ts';
import {
  eventBridgeClient,
  eventBridgeOperatorEvents,
} from '../../shared/adapters/eventbridge/operator-events.ts';
import type { OperatorEvent } from '../../shared/domain/delivery/operator-event.ts';
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
  inbox = await openOperatorInbox({ eventBridge, sqs: deployment.sqs }, busName);
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

/** The event as seen by a listener, who does not get the bucket. */
const eventOf = (message: OperatorEventMessage): OperatorEvent => {
  const { queue, subscriptionId } = message.detail;
  switch (message['detail-type']) {
    case 'subscription.disabled': {
      const { reason, at } = message.detail;
      return { type: message['detail-type'], queue, subscriptionId, reason, at: Date.parse(at) };
    }
    case 'subscription.failing': {
      const { since, failures } = message.detail;
      return { type: message['detail-type'], queue, subscriptionId, since: Date.parse(since), failures };
    }
    case 'subscription.recovered': {
      const { since, at } = message.detail;
      return {
        type: message['detail-type'],
        queue,
        subscriptionId,
        since: Date.parse(since),
        at: Date.parse(at),
      };
    }
    case 'attempt.failed': {
      const { deployment: _, queue, subscriptionId, messageId, at, nextAt, ...result } = message.detail;
      const key = { queue, messageId, subscriptionId, bucket: 0 };
      const times = { at: Date.parse(at), ...(nextAt !== undefined && { nextAt: Date.parse(nextAt) }) };
      return { type: message['detail-type'], key, ...result, ...times };
    }
    case 'subscription.slowed': {
      const { reason, since, until } = message.detail;
      const times = { since: Date.parse(since), until: Date.parse(until) };
      return { type: message['detail-type'], queue, subscriptionId, reason, ...times };
    }
    case 'subscription.resumed': {
      const { reason, since, at } = message.detail;
      const times = { since: Date.parse(since), at: Date.parse(at) };
      return { type: message['detail-type'], queue, subscriptionId, reason, ...times };
    }
    case 'subscription.certificate_expiring': {
      const { expiresAt, days } = message.detail;
      return {
        type: message['detail-type'],
        queue,
        subscriptionId,
        expiresAt: Date.parse(expiresAt),
        days,
      };
    }
    case 'delivery.exhausted': {
      const { messageId, attempts, at } = message.detail;
      const key = { queue, messageId, subscriptionId, bucket: 0 };
      return { type: message['detail-type'], key, attempts, at: Date.parse(at) };
    }
  }
};

import { localAws } from '../../local/local-aws.ts';

const { account, region } = localAws;
const topicArn = (name: string): string => `arn:aws:sns:${region}:${account}:${name}`;

/** What feeds the deployed system under test besides its own producers. Its settings have to know it beforehand. */
export const eventSources = {
  shopSource: 'e2e.shop',
  /** Where the events of the shop go: no message of theirs can name a queue. */
  shopQueue: 'e2e-shop',
  rule: { name: 'e2e-orders', arn: `arn:aws:events:${region}:${account}:rule/e2e-orders` },
  /** One topic for each form, because a queue can be subscribed to a topic once. */
  wrapped: { name: 'e2e-wrapped', arn: topicArn('e2e-wrapped') },
  raw: { name: 'e2e-raw', arn: topicArn('e2e-raw') },
  /** A bucket of a producer, and what may be read there. */
  producer: { bucket: 'e2e-producer', prefix: 'webhooks/' },
} as const;

const { producer, raw, rule, shopQueue, shopSource, wrapped } = eventSources;

/** What the deployed system has to be told of them. */
export const eventSourceSettings = {
  ingressRoutes: JSON.stringify({ [shopSource]: shopQueue }),
  ingressSenders: [rule.arn, wrapped.arn, raw.arn].join(','),
  payloadSources: JSON.stringify([producer]),
};

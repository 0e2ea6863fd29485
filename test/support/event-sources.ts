import { localAws } from '../../local/local-aws.ts';

const { account, region } = localAws;
const topicArn = (name: string): string => `arn:aws:sns:${region}:${account}:${name}`;

/** Event sources of the deployed system besides its producers. Its settings must contain them at deployment. */
export const eventSources = {
  shopSource: 'e2e.shop',
  /** The queue for the shop's events, which cannot name a queue. */
  shopQueue: 'e2e-shop',
  rule: { name: 'e2e-orders', arn: `arn:aws:events:${region}:${account}:rule/e2e-orders` },
  /** One topic for each form, because a topic takes only one subscription of a queue. */
  wrapped: { name: 'e2e-wrapped', arn: topicArn('e2e-wrapped') },
  raw: { name: 'e2e-raw', arn: topicArn('e2e-raw') },
  /** A producer's bucket, and the prefix that may be read. */
  producer: { bucket: 'e2e-producer', prefix: 'webhooks/' },
} as const;

const { producer, raw, rule, shopQueue, shopSource, wrapped } = eventSources;

/** The settings that the deployed system needs for these sources. */
export const eventSourceSettings = {
  ingressRoutes: JSON.stringify({ [shopSource]: shopQueue }),
  ingressSenders: [rule.arn, wrapped.arn, raw.arn].join(','),
  payloadSources: JSON.stringify([producer]),
};

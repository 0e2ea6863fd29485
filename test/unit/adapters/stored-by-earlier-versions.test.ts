import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { parseReceipt, receiptText } from '../../../functions/api/pull/answer.ts';
import { chunkOfItem, toStateItem } from '../../../shared/adapters/dynamodb/deliveries/chunks.ts';
import { dynamoClient } from '../../../shared/adapters/dynamodb/client.ts';
import { toDelivery, toDeliveryItem } from '../../../shared/adapters/dynamodb/deliveries/delivery-item.ts';
import { parseMessageKey } from '../../../shared/adapters/dynamodb/deliveries/delivery-keys.ts';
import {
  toMessageItem,
  toMessageRecord,
} from '../../../shared/adapters/dynamodb/deliveries/message-records.ts';
import { dynamoRecoveries } from '../../../shared/adapters/dynamodb/deliveries/recoveries.ts';
import {
  toQueue,
  toQueueItem,
  toSubscriberItem,
  toSubscription,
  toSubscriptionItem,
} from '../../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { deliveryIn } from '../../../shared/domain/delivery/chunk.ts';
import { readUndeliverableNotice } from '../../../shared/wire/jobs/redrive.ts';
import { encodeFirstJob, encodeWakeUp, parseWork } from '../../../shared/wire/jobs/delivery-job.ts';
import { encodeOperation, parseOperation } from '../../../shared/wire/jobs/operation.ts';
import { deliveryView } from '../../../shared/wire/views/shown-delivery.ts';
import { recoveryView } from '../../../shared/wire/views/recovery.ts';
import { subscriptionView } from '../../../shared/wire/views/subscription.ts';
import { awsStub } from '../../support/aws-stub.ts';
import { asRead, type Situation, situationOf, stored, type StoredItem } from '../../support/stored-items.ts';

/** A record as today's code reads it: written again, and what the API shows of it. */
type Read = { written: Record<string, unknown>; views?: readonly unknown[] };

/** By the beginning of the sort key. */
const readers: Readonly<Record<string, (item: StoredItem, now: number) => Read>> = {
  META: (item) => ({ written: toQueueItem(toQueue(item)) }),
  'SUB#': (item, now) => {
    const subscription = toSubscription(item);
    return { written: toSubscriptionItem(subscription), views: [subscriptionView(subscription, now)] };
  },
  'DELIVERY#': (item) => {
    const delivery = toDelivery(item);
    return { written: toDeliveryItem(delivery), views: [deliveryView(delivery)] };
  },
  'CHUNK#': (item) => {
    const chunk = chunkOfItem(item);
    const members = [...(chunk.members ?? [])];
    return {
      written: {
        ...item,
        members: chunk.members && Object.fromEntries(members.map(([id, state]) => [id, toStateItem(state)])),
        early: chunk.excluded.size > 0 ? chunk.excluded : undefined,
      },
      views: members.flatMap(([id]) => deliveryIn(chunk, id) ?? []).map(deliveryView),
    };
  },
  MESSAGE: (item) => {
    const key = parseMessageKey(item);
    if (key === undefined) throw new Error(item.pk);
    return { written: toMessageItem(toMessageRecord(key, item)) };
  },
};

function readerOf({ sk }: StoredItem) {
  return Object.entries(readers).find(([start]) => sk.startsWith(start))?.[1];
}

/** Attributes that only the adapters use, in updates of a record. */
const UNREAD = ['w', 'subscriptionsAdded', 'roomCountedAt', 'roomSubscriptions', 'roomBytes'];

const erased = z.object({ erasedAt: z.number() });
const received = z.object({ lease: z.object({ receivedAt: z.number() }), expiresAt: z.number() });
const earlierPressure = z
  .object({
    at: z.number(),
    since: z.number(),
    reason: z.string(),
    ended: z.literal(true).optional(),
    state: z.undefined().optional(),
  })
  .transform(({ ended, at, since, reason }) =>
    ended ? { state: 'ended', at, since } : { state: 'ending', reason, at, since },
  );

/** The attributes that are written differently on purpose. */
const replaced: Readonly<Record<string, (value: unknown, item: StoredItem) => unknown>> = {
  // Written by its own update.
  body: (body) => (erased.safeParse(body).success ? undefined : body),
  // 556ba158 did not divide the deliveries that wait to be received.
  overduePk: (part) => {
    const divided: unknown = expect.stringContaining(String(part));
    return /^PULL#[^#]+#[^#]+$/.test(String(part)) ? divided : part;
  },
  // A receive moves both times, and rounds this one up again.
  ttl: (ttl, item) => {
    const { expiresAt } = received.safeParse(item).data ?? {};
    return expiresAt === undefined ? ttl : Math.ceil(expiresAt / 1000);
  },
  // Back-pressure of 556ba158 ends with the next request.
  pressure: (pressure) => earlierPressure.safeParse(pressure).data ?? pressure,
};

function rewritten(item: StoredItem): Record<string, unknown> {
  const read = Object.entries(item).filter(([name]) => !UNREAD.includes(name));
  return withParsedJson(
    Object.fromEntries(
      read.map(([name, value]) => [name, name in replaced ? replaced[name]?.(value, item) : value]),
    ),
  );
}

/** Users' options are stored as JSON, whose order of fields does not matter. */
function withParsedJson(item: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => [
      name,
      typeof value === 'string' && value.startsWith('{') ? JSON.parse(value) : value,
    ]),
  );
}

const viewSchema = z.looseObject({
  id: z.string().optional(),
  messageId: z.string().optional(),
  subscriptionId: z.string().optional(),
});

/** Fields of today’s views that those of earlier versions do not have. */
const ADDED = new Set(['acceptedAt', 'inFlight', 'previousSecretExpiresAt', 'waited', 'waitingSince']);

function withoutAdded(view: unknown): unknown {
  return JSON.parse(JSON.stringify(view), (name, value: unknown) => (ADDED.has(name) ? undefined : value));
}

/** The views by what they show, without what is computed from the time of the request. */
function byName(views: readonly unknown[]): Record<string, unknown> {
  const parsed = views.map((view) => viewSchema.parse(withoutAdded(view)));
  return Object.fromEntries(
    parsed.map((view) => [
      view.id ?? `${view.messageId} to ${view.subscriptionId}`,
      { ...view, age: undefined, ...(view.id === 'ramping' && { backPressure: undefined }) },
    ]),
  );
}

const listing = z.union([
  z.object({ deliveries: z.array(z.unknown()) }).transform(({ deliveries }) => deliveries),
  z.object({ subscriptions: z.array(z.unknown()) }).transform(({ subscriptions }) => subscriptions),
]);

/** What the API of that version showed of the records. */
function shown({ views }: Situation): Record<string, unknown> {
  return byName(Object.values(views).flatMap((view) => listing.safeParse(view).data ?? []));
}

/** Today's API shows nothing of the back-pressure of 556ba158, as it ends. */
function withoutPressure(views: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(views).map(([name, view]) => [
      name,
      { ...viewSchema.parse(view), backPressure: undefined },
    ]),
  );
}

function encodedAgain(body: string): unknown {
  const work = parseWork(body);
  if (work.ok) return work.value.kind === 'wake_up' ? encodeWakeUp(work.value) : encodeFirstJob(work.value);
  const operation = parseOperation(body);
  return operation.ok ? encodeOperation(operation.value) : operation.reason;
}

describe.each(['0.1.0', '556ba158', '12df063c'] as const)('what version %s stored', (version) => {
  describe.each(Object.entries(stored[version]))('%s', (_, situation) => {
    const { items, delivery, retry, operation, undeliverable, pull, recordedAt } = situation;

    it('is read, and written again without a loss', () => {
      const known = [...items.subscriptions, ...items.deliveries].flatMap((item) => {
        const reader = readerOf(item);
        return reader === undefined ? [] : [{ item, read: reader(asRead(item), recordedAt) }];
      });
      expect(known.map(({ read }) => withParsedJson(read.written))).toEqual(
        known.map(({ item }) => rewritten(asRead(item))),
      );
      const views = byName(known.flatMap(({ read }) => read.views ?? []));
      const before = version === '556ba158' ? withoutPressure(shown(situation)) : shown(situation);
      expect(Object.fromEntries(Object.entries(views).filter(([name]) => name in before))).toEqual(before);
    });

    it('has jobs, wake-ups, operations, notices and receipts that are read without a loss', () => {
      for (const body of [...delivery, ...retry, ...operation])
        expect(JSON.parse(String(encodedAgain(body)))).toEqual(JSON.parse(body));
      for (const body of undeliverable)
        expect(
          readUndeliverableNotice({ id: 'id', body, attributes: {}, sentAt: 0, receipt: 'receipt' }).kind,
        ).toBe('redrive');
      for (const receipt of Object.values(pull?.receipts ?? {})) {
        const parsed = parseReceipt(receipt);
        expect(parsed && receiptText(parsed)).toBe(receipt);
      }
    });
  });
});

const putRequest = z.object({ Item: z.custom<Record<string, AttributeValue>>() });

describe.each(['556ba158', '12df063c'] as const)('of every kind, what version %s stored', (version) => {
  const { items, views } = situationOf(version, 'every-subscription');
  const itemsAt = (start: string) =>
    [...items.subscriptions, ...items.deliveries].filter(({ sk }) => sk.startsWith(start));

  it('keeps each subscriber unique on its queue under the same key', () => {
    const claims = new Map(itemsAt('URL#').map((item) => [item['subscriptionId'], item]));
    const claimed = itemsAt('SUB#').filter(({ id }) => claims.has(id));
    expect(claimed.length).toBeGreaterThan(10);
    expect(claimed.map((item) => toSubscriberItem(toSubscription(item)))).toEqual(
      claimed.map(({ id }) => claims.get(id)),
    );
  });

  it('has a recovery in the middle of its work, which is read and saved without a loss', async () => {
    const [recovery, page] = [...itemsAt('RECOVERY#'), ...itemsAt('PAGE#')].map((item) => marshall(item));
    const stub = await awsStub(() => ({
      headers: { 'content-type': 'application/x-amz-json-1.0' },
      body: JSON.stringify({ Item: recovery, Items: [page] }),
    }));
    onTestFinished(stub.close);
    const recoveries = dynamoRecoveries(dynamoClient(stub.config), 'table');
    const found = await recoveries.find('queue', 'id');
    const { items: pages } = await recoveries.keptPages('queue', 'id', { limit: 1 });
    if (found === undefined) throw new Error('not read');
    await recoveries.save(found);
    for (const { number, keys } of pages) await recoveries.keepPage({ ...found, pages: number, batch: keys });
    const written = stub.requests.slice(2).map(({ body }) => putRequest.parse(JSON.parse(body)).Item);
    expect(written).toEqual([{ ...recovery, w: { S: expect.any(String) as string } }, page]);
    expect(Object.values(views)).toContainEqual({ recoveries: [recoveryView(found)], links: [] });
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { parseReceipt, receiptText } from '../../../functions/api/pull/answer.ts';
import { chunkOfItem, toStateItem } from '../../../shared/adapters/dynamodb/deliveries/chunks.ts';
import { toDelivery, toDeliveryItem } from '../../../shared/adapters/dynamodb/deliveries/delivery-item.ts';
import { parseMessageKey } from '../../../shared/adapters/dynamodb/deliveries/delivery-keys.ts';
import {
  toMessageItem,
  toMessageRecord,
} from '../../../shared/adapters/dynamodb/deliveries/message-records.ts';
import {
  toQueue,
  toQueueItem,
  toSubscription,
  toSubscriptionItem,
} from '../../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { jsonOrUndefined } from '../../../shared/domain/json.ts';
import type { Reading } from '../../../shared/wire/fields.ts';
import { encodeFirstJob, encodeWakeUp, parseWork } from '../../../shared/wire/jobs/delivery-job.ts';
import { encodeOperation, parseOperation } from '../../../shared/wire/jobs/operation.ts';
import { arbitraryDelivery } from '../../support/delivery-arbitraries.ts';
import { asRead, stored, type StoredItem } from '../../support/stored-items.ts';
import * as readers from './readers-of-556ba158.mjs';

/** The readers and writers of the version before. They are compiled, so nothing is known of their types. */
const before = z
  .record(
    z.string(),
    z.custom<(...given: unknown[]) => unknown>((one) => typeof one === 'function'),
  )
  .parse({ ...readers });

const call = (name: string, ...given: unknown[]): unknown => {
  const reader = before[name];
  if (reader === undefined) throw new Error(`no ${name}`);
  return reader(...given);
};

const readingOf = <Value>(reading: Reading<Value>): Value => {
  if (!reading.ok) throw new Error(reading.reason);
  return reading.value;
};

/** What the version before does not keep of an attempt and of the next one, which has a row as well. */
const WAITS = new Set(['w', 'waited', 'waitingSince']);

/** As JSON: the order of attributes and of the users' options does not matter, nor does what is undefined. */
const asJson = (item: unknown): Record<string, unknown> =>
  z.record(z.string(), z.unknown()).parse(
    JSON.parse(JSON.stringify(item), (name, value: unknown) => {
      if (WAITS.has(name)) return undefined;
      // Not each text that begins so is an object: an owner of a lease may.
      return typeof value === 'string' && value.startsWith('{') ? (jsonOrUndefined(value) ?? value) : value;
    }),
  );

/**
 * Attributes that the version before does not read. Each has a row in shared/adapters/dynamodb/one-way-changes.ts:
 * back-pressure, the partitions of what waits for a receive by pull, a lease that has lapsed, and what waits for the end of
 * a pause.
 */
const ONE_WAY = { pressure: undefined, overduePk: undefined, lapsed: undefined };

/** The version before reads a delivery that waits for the end of a pause as one that SQS delays. */
const withoutPause = ({ next, ...item }: Record<string, unknown>): Record<string, unknown> =>
  typeof next === 'object' ? { ...item, next: { ...next, paused: undefined } } : item;

const chunkSchema = z.object({ members: z.map(z.string(), z.unknown()).optional() });

/** What today's code writes of a stored item, and what the version before makes of it. */
const forms: Readonly<Record<string, (item: StoredItem) => { written: unknown; rewritten: unknown }>> = {
  META: (item) => {
    const written = toQueueItem(toQueue(item));
    return { written, rewritten: call('toQueueItem', call('toQueue', written)) };
  },
  'SUB#': (item) => {
    const written = toSubscriptionItem(toSubscription(item));
    return { written, rewritten: call('toSubscriptionItem', call('toSubscription', written)) };
  },
  'DELIVERY#': (item) => {
    const written = toDeliveryItem(toDelivery(item));
    return { written, rewritten: call('toDeliveryItem', call('toDelivery', written)) };
  },
  'CHUNK#': (item) => {
    const { members } = chunkOfItem(item);
    const states = members && new Map([...members].map(([id, state]) => [id, toStateItem(state)]));
    const written = { ...item, ...(states && { members: Object.fromEntries(states) }) };
    const read = chunkSchema.parse(call('chunkOfItem', written));
    return {
      written: { ids: members && [...members.keys()] },
      rewritten: { ids: read.members && [...read.members.keys()] },
    };
  },
  MESSAGE: (item) => {
    const key = parseMessageKey(item);
    if (key === undefined) throw new Error(item.pk);
    const written = toMessageItem(toMessageRecord(key, item));
    return { written, rewritten: call('toMessageItem', call('toMessageRecord', key, written)) };
  },
};

const situations = Object.entries(stored).flatMap(([version, all]) =>
  Object.entries(all).map(([name, situation]) => ({ name: `${version}, ${name}`, ...situation })),
);

describe('the version before, after going back', () => {
  it('reads every delivery that today’s code can write, and writes it again without a loss', () => {
    fc.assert(
      fc.property(arbitraryDelivery, (delivery) => {
        const written = toDeliveryItem(delivery);
        const rewritten = call('toDeliveryItem', call('toDelivery', written));
        expect({ ...asJson(rewritten), ...ONE_WAY }).toEqual({
          ...withoutPause(asJson(written)),
          ...ONE_WAY,
        });
      }),
    );
  });

  it.each(situations)('reads what today’s code writes of each record: $name', ({ items }) => {
    for (const item of [...items.subscriptions, ...items.deliveries].map(asRead)) {
      const [, form] = Object.entries(forms).find(([start]) => item.sk.startsWith(start)) ?? [];
      if (form === undefined) continue;
      const { written, rewritten } = form(item);
      expect({ ...asJson(rewritten), ...ONE_WAY }).toEqual({ ...asJson(written), ...ONE_WAY });
    }
  });

  it.each(situations)('reads the jobs and wake-ups: $name', ({ delivery, retry }) => {
    for (const body of [...delivery, ...retry]) {
      const work = readingOf(parseWork(body));
      const text = work.kind === 'wake_up' ? encodeWakeUp(work) : encodeFirstJob(work);
      expect(call('parseWork', text)).toMatchObject({ ok: true, value: { kind: work.kind } });
    }
  });

  it.each(situations)('reads the operations: $name', ({ operation }) => {
    for (const body of operation) {
      const value = readingOf(parseOperation(body));
      expect(call('parseOperation', encodeOperation(value))).toMatchObject({ ok: true, value });
    }
  });

  it.each(situations)('reads the receipts: $name', ({ pull }) => {
    for (const receipt of Object.values(pull?.receipts ?? {})) {
      const parsed = parseReceipt(receipt);
      if (parsed === undefined) throw new Error(receipt);
      expect(call('parseReceipt', receiptText(parsed))).toMatchObject({ key: { queue: parsed.key.queue } });
    }
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Attempt,
  type AttemptResult,
  withBoundedText,
} from '../../../shared/domain/delivery/attempt.ts';
import { decide } from '../../../shared/domain/delivery/decide.ts';
import type {
  Delivery,
  DeliveryChange,
  EndedDelivery,
  OpenDelivery,
  Recorded,
} from '../../../shared/domain/delivery/delivery.ts';
import { decidePullStep } from '../../../shared/domain/delivery/pull.ts';
import { recordLateResult } from '../../../shared/domain/delivery/transitions.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import {
  POLL_DECREASES,
  pollInterval,
  type PollInterval,
  pollTrace,
} from '../../../shared/domain/retry/poll-interval.ts';
import { aBarePolicy } from '../../support/builders.ts';
import {
  aDelivery,
  anAttempt,
  answered,
  type DeliveryFields,
  SOME_TIME,
} from '../../support/delivery-builders.ts';

const DAY_MS = 86_400_000;
const OWNER = 'request-1/message-1';
const lease = { owner: OWNER, until: SOME_TIME + 23_000 };
const now = SOME_TIME + 500;

const replied = (statusCode: number, retryAfter?: string): Reply => ({
  kind: 'answered',
  statusCode,
  ...(retryAfter === undefined ? {} : { retryAfter }),
});

/** What is decided for the first attempt of a round, made at SOME_TIME in 100 ms. */
const decided = (
  attempt: Partial<Attempt>,
  {
    reply = replied(attempt.result?.kind === 'answered' ? attempt.result.statusCode : 500),
    policy = {},
    delivery = {},
    retryLease,
    messageExpiresAt,
  }: {
    reply?: Reply;
    policy?: Parameters<typeof aBarePolicy>[0];
    delivery?: DeliveryFields;
    retryLease?: typeof lease;
    messageExpiresAt?: number;
  } = {},
) =>
  decide(
    {
      kind: 'request',
      delivery: aDelivery({ status: 'pending', attempts: [], lease, ...delivery }),
      attempt: anAttempt({ startedAt: SOME_TIME, durationMs: 100, ...attempt }),
      reply,
      version: 7,
      messageExpiresAt,
      policy: aBarePolicy(policy),
      owner: OWNER,
      retryLease,
      schedulerThresholdSeconds: 90,
      retryAfterCapMs: 60_000,
    },
    { now, retentionMs: 30 * DAY_MS },
  );

const decidedChange = (...given: Parameters<typeof decided>) => decided(...given).change;

const immediate = { retries_with_no_delay: 1 };
const delayed = { minimum_delay_retries: 1, minimum_delay: 10, maximum_delay: 10 };

it.each<[string, AttemptResult, AttemptResult]>([
  ['a snippet that fits', answered(503, 'é'.repeat(24)), answered(503, 'é'.repeat(24))],
  ['no snippet that does not', answered(503, 'é'.repeat(25)), answered(503)],
  ['no snippet twice', answered(500, 'x'.repeat(2_000)), answered(500)],
  ['no detail that does not', { kind: 'refused', detail: 'x'.repeat(41) }, { kind: 'refused' }],
])('of 2,048 bytes of text for a delivery, an attempt after 2,000 keeps %s', (_what, result, kept) => {
  const before = [anAttempt({ result: answered(503, 'x'.repeat(2_000)) })];
  expect(withBoundedText(result, before)).toEqual(kept);
});

describe('the result of an attempt', () => {
  it("is written only under the attempt's lease and after the recorded attempts", () => {
    const transition = decided(
      { number: 2, outcome: 'delivered' },
      { delivery: { attempts: [anAttempt()] } },
    );
    expect(transition.expect).toEqual({ kind: 'leased', recorded: 1, owner: OWNER });
  });

  it('ends the delivery after a success', () => {
    expect(decidedChange({ outcome: 'delivered', result: answered(200) })).toMatchObject({
      status: 'delivered',
      lease: null,
      overdueAt: null,
      lost: 0,
    });
  });

  it.each([
    [404, 'http_404', [{ kind: 'undeliverable' }]],
    [410, 'gone', [{ kind: 'disable_subscription', reason: 'gone', version: 7 }, { kind: 'undeliverable' }]],
  ])(
    'ends the delivery after a %i, with its reason and pending steps',
    (statusCode, reason, pendingSteps) => {
      expect(decidedChange({ outcome: 'rejected', result: answered(statusCode) })).toMatchObject({
        status: 'rejected',
        reason,
        pendingSteps,
        overdueAt: now,
        lease: null,
        policy: aBarePolicy(),
      });
    },
  );

  it('disables the subscription of a delivered message that asks for it', () => {
    const reply: Reply = { kind: 'answered', statusCode: 204, asks: 'disable' };
    expect(decidedChange({ outcome: 'delivered', result: answered(204) }, { reply })).toMatchObject({
      status: 'delivered',
      pendingSteps: [{ kind: 'disable_subscription', reason: 'disable_requested', version: 7 }],
      overdueAt: now,
    });
  });

  it('ends the delivery if the address guard refused the address', () => {
    const change = decidedChange({ outcome: 'rejected' }, { reply: { kind: 'forbidden' } });
    expect(change).toMatchObject({ status: 'rejected', reason: 'address_forbidden' });
  });

  it('ends the delivery after a failure when the policy has no further attempt', () => {
    expect(decidedChange({ outcome: 'failed' })).toMatchObject({
      status: 'exhausted',
      reason: 'retries_exhausted',
      pendingSteps: [{ kind: 'undeliverable' }, { kind: 'exhausted_event' }],
    });
  });

  it.each([
    ['cancels it if the message expires when the retry is due', 10_100, 'cancelled', 'message_expired'],
    ['retries it if the message expires later', 10_101, 'retrying', undefined],
  ])('%s', (_, afterMs, status, reason) => {
    const messageExpiresAt = SOME_TIME + afterMs;
    const change = decidedChange({ outcome: 'failed' }, { policy: delayed, messageExpiresAt });
    expect(change).toMatchObject({ status, lease: null, appendAttempt: { number: 1 } });
    expect('reason' in change ? change.reason : undefined).toBe(reason);
  });

  it('schedules the next attempt after a failure, counted from the end of this one', () => {
    expect(decidedChange({ outcome: 'failed' }, { policy: delayed })).toMatchObject({
      status: 'retrying',
      next: { number: 2, phase: 'pre_backoff', dueAt: SOME_TIME + 10_100, by: 'sqs_delay' },
      lease: null,
      overdueAt: SOME_TIME + 10_100,
    });
  });

  it('counts only the attempts of the current round', () => {
    const attempts = [anAttempt({ round: 1 }), anAttempt({ number: 2, round: 1 })];
    const change = decidedChange(
      { outcome: 'failed', number: 3, round: 2 },
      { policy: delayed, delivery: { attempts, round: 2 } },
    );
    expect(change).toMatchObject({ status: 'retrying', next: { number: 4 } });
  });

  it('keeps the lease only if this invocation makes the immediate retry', () => {
    const retryLease = { owner: OWNER, until: now + 23_000 };
    expect(decidedChange({ outcome: 'failed' }, { policy: immediate, retryLease })).toMatchObject({
      next: { by: 'same_invocation' },
      lease: retryLease,
    });
    expect(decidedChange({ outcome: 'failed' }, { policy: immediate })).toMatchObject({
      next: { by: 'sqs_delay' },
      lease: null,
    });
    expect(decidedChange({ outcome: 'failed' }, { policy: delayed, retryLease })).toMatchObject({
      lease: null,
    });
  });

  it.each([
    ['5', 10_100],
    ['30', 30_100],
    ['3600', 60_100],
    ['soon', 10_100],
  ])('respects the Retry-After of the subscriber, up to the cap: %s', (retryAfter, dueMs) => {
    const change = decidedChange({ outcome: 'failed' }, { policy: delayed, reply: replied(503, retryAfter) });
    expect(change).toMatchObject({ next: { dueAt: SOME_TIME + dueMs } });
  });

  it('removes the slot that the attempt used', () => {
    const slot = { at: SOME_TIME, epoch: '1/1' };
    const given = { policy: delayed };
    expect(decidedChange({ outcome: 'failed' }, { ...given, delivery: { slot } })).toMatchObject({
      slot: null,
    });
    expect(decidedChange({ outcome: 'failed' }, given)).not.toHaveProperty('slot');
  });

  it('expires one retention period after the next attempt', () => {
    expect(decidedChange({ outcome: 'failed' }, { policy: delayed }).expiresAt).toBe(
      SOME_TIME + 10_100 + 30 * DAY_MS,
    );
    expect(decidedChange({ outcome: 'delivered' }).expiresAt).toBe(now + 30 * DAY_MS);
  });
});

const { status: _status, next: _next, slot: _slot, ...recorded } = aDelivery();
const common: Recorded & { pendingSteps: [] } = { ...recorded, pendingSteps: [] };
const next = { number: 1, phase: 'initial', dueAt: SOME_TIME, by: 'sqs_delay' } as const;
const at = { updatedAt: SOME_TIME };
const made = anAttempt();

/** Each line compiles only because of its comment: the type check fails where a contradiction becomes possible. */
it('contradictory deliveries, changes and results do not compile', () => {
  // @ts-expect-error A delivered one has no next attempt.
  const delivered: EndedDelivery = { ...common, status: 'delivered', next };
  // @ts-expect-error A delivered one has no reason.
  const reasoned: EndedDelivery = { ...common, status: 'delivered', reason: 'gone' };
  // @ts-expect-error A rejected one has the reason of a rejection.
  const rejected: EndedDelivery = { ...common, status: 'rejected', reason: 'retries_exhausted' };
  const cancelled = { ...common, status: 'cancelled', reason: 'manual' } as const;
  // @ts-expect-error An ended one waits for no slot.
  const waiting: EndedDelivery = { ...cancelled, slot: { at: SOME_TIME } };
  // @ts-expect-error A retrying one has a next attempt.
  const retrying: OpenDelivery = { ...common, status: 'retrying' };
  // @ts-expect-error An open one has no pending steps.
  const open: OpenDelivery = { ...common, status: 'pending', pendingSteps: [{ kind: 'undeliverable' }] };

  // @ts-expect-error The reason of an exhausted one is that its retries are.
  const exhausts: DeliveryChange = { ...at, status: 'exhausted', reason: 'manual' };
  // @ts-expect-error A change to retrying plans the retry.
  const retries: DeliveryChange = { ...at, status: 'retrying' };
  // @ts-expect-error A next attempt needs an open status.
  const unmoved: DeliveryChange = { ...at, next };
  // @ts-expect-error A change that ends a delivery plans nothing.
  const ends: DeliveryChange = { ...at, status: 'delivered', next };

  // @ts-expect-error An answer has a status.
  const answer: Attempt = { ...made, result: { kind: 'answered' } };
  // @ts-expect-error A fault is one of the closed list.
  const fault: Attempt = { ...made, result: { kind: 'unanswered', error: 'it failed' } };
  // @ts-expect-error What was forbidden has no answer.
  const forbidden: Attempt = { ...made, result: { kind: 'forbidden', statusCode: 200 } };
  const all = [delivered, reasoned, rejected, waiting, retrying, open];
  expect([...all, exhausts, retries, unmoved, ends, answer, fault, forbidden]).toHaveLength(13);
});

describe('what deliver does with a delivery that its subscriber fetches', () => {
  const NOW = SOME_TIME + 60_000;
  const pulled = { ...next, by: 'pull' } as const;
  const held = { owner: 'pull/x', until: NOW, receivedAt: SOME_TIME };

  it.each<[string, Delivery | undefined, string]>([
    ['nothing without a record', undefined, 'none'],
    ['nothing while it waits', aDelivery({ next: pulled, overdueAt: pulled.dueAt }), 'none'],
    ['puts it back where reconcile moved it', aDelivery({ next: pulled, overdueAt: NOW + 900_000 }), 'await'],
    ['nothing while it is held', aDelivery({ next: pulled, lease: { ...held, until: NOW + 1 } }), 'none'],
    ['records a failure from the exact end of its lease', aDelivery({ next: pulled, lease: held }), 'lapsed'],
    ['lets it wait when it is woken', aDelivery({ next }), 'await'],
    ['nothing without a next attempt', aDelivery(), 'none'],
    ['nothing after its end', aDelivery({ status: 'delivered' }), 'none'],
    [
      'its pending steps',
      aDelivery({ status: 'exhausted', pendingSteps: [{ kind: 'undeliverable' }] }),
      'unfinished',
    ],
  ])('%s', (_name, current, kind) => {
    expect(decidePullStep(current, NOW).kind).toBe(kind);
  });

  it('gives the lease that lapsed to what records its failure', () => {
    const delivery = aDelivery({ next: pulled, lease: held });
    expect(decidePullStep(delivery, NOW)).toEqual({ kind: 'lapsed', delivery });
  });
});

describe('a result after its lease was lost', () => {
  const late = (outcome: 'delivered' | 'failed', fields: DeliveryFields) =>
    recordLateResult(aDelivery(fields), anAttempt({ outcome }), { now, retentionMs: 30 * DAY_MS }).change;
  const MANY = Array.from({ length: 50 }, () => anAttempt());

  it('ends the delivery if it is a success, without the steps of another end', () => {
    const exhausted = { status: 'exhausted', pendingSteps: [{ kind: 'undeliverable' }] } as const;
    const end = { status: 'delivered', pendingSteps: [], overdueAt: null };
    expect(late('delivered', { ...exhausted, lateResults: MANY })).toMatchObject({
      ...end,
      appendLateResult: { outcome: 'delivered' },
    });
  });

  it('is one of 50 at most if it decides nothing', () => {
    expect(late('failed', { lateResults: MANY.slice(1) })).toHaveProperty('appendLateResult');
    expect(late('failed', { lateResults: MANY })).not.toHaveProperty('appendLateResult');
    expect(late('failed', {})).not.toHaveProperty('status');
  });
});

const EMPTY = 'empty';
const MESSAGE = 'message';

/** Wait times of a poller that starts at `interval` and gets these results. */
const waits = (interval: PollInterval, found: string[]): number[] => {
  const seen: number[] = [];
  let now = interval;
  for (const result of found) {
    seen.push(now.wait);
    now = result === EMPTY ? now.afterEmpty() : now.afterMessage();
  }
  return [...seen, now.wait];
};

const empty = (times: number): string[] => Array.from({ length: times }, () => EMPTY);

const gradual = { decrease: 'gradual' } as const;

describe('poll interval', () => {
  it.each<[string, Parameters<typeof pollInterval>[0], string[], number[]]>([
    ['doubles while nothing is found, up to a minute', {}, empty(7), [1, 2, 4, 8, 16, 32, 60, 60]],
    ['returns to the floor after a message', {}, [...empty(5), MESSAGE, EMPTY], [1, 2, 4, 8, 16, 32, 1, 2]],
    ['halves after a message if it decreases gradually', gradual, [...empty(3), MESSAGE], [1, 2, 4, 8, 4]],
    ['halves with any exponent', { ...gradual, exponent: 3 }, [EMPTY, EMPTY, MESSAGE], [1, 3, 9, 4.5]],
    ['does not halve below the floor', gradual, [EMPTY, MESSAGE, MESSAGE], [1, 2, 1, 1]],
    ['has its bounds', { floor: 0.5, ceiling: 5, exponent: 3 }, empty(4), [0.5, 1.5, 4.5, 5, 5]],
    ['is constant between equal bounds', { floor: 3, ceiling: 3 }, empty(2), [3, 3, 3]],
    ['is constant with an exponent of 1', { exponent: 1 }, empty(2), [1, 1, 1]],
  ])('%s: %o', (_what, options, found, expected) => {
    expect(waits(pollInterval(options), found)).toEqual(expected);
  });

  it('traces each change with the sleep that it ends or the interval that it begins', () => {
    const start = pollInterval().afterEmpty().afterEmpty();
    for (const what of ['empty', 'failed'] as const)
      expect(pollTrace(what, start, start.afterEmpty())).toBe(`${what}: slept 4 s, next 8 s`);
    for (const what of ['message', 'changed', 'woken'] as const)
      expect(pollTrace(what, start, start.afterMessage())).toBe(`${what}: interval 1 s`);
  });

  it('always stays between floor and ceiling', () => {
    const options = fc
      .record({
        floor: fc.double({ min: 0.001, max: 100, noNaN: true }),
        above: fc.double({ min: 0, max: 1000, noNaN: true }),
        exponent: fc.double({ min: 1, max: 10, noNaN: true }),
        decrease: fc.constantFrom(...POLL_DECREASES),
      })
      .map(({ above, ...rest }) => ({ ...rest, ceiling: rest.floor + above }));
    const found = fc.array(fc.constantFrom(EMPTY, MESSAGE), { maxLength: 50 });

    fc.assert(
      fc.property(options, found, (drawn, results) =>
        waits(pollInterval(drawn), results).every((wait) => wait >= drawn.floor && wait <= drawn.ceiling),
      ),
    );
  });
});

import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import {
  deadLetterCountsSchema,
  deadLetterDetailSchema,
  deadLetterLookSchema,
  deadLetterResultSchema,
} from '../../../shared/wire/views/console.ts';
import { deploymentTarget } from '../../../cli/commands/console/console-info.ts';
import type { DeadLetterAccess } from '../../../cli/dead-letters/dead-letter-access.ts';
import { Problem } from '../../../local/install/problem.mjs';
import type { DeadLetterQueue } from '../../../shared/ports/queues.ts';
import { inMemoryDeadLetterQueue, inMemoryWorkQueues } from '../../support/in-memory/in-memory-queues.ts';
import { asPage, closeConsoles, consoleOf, deploymentAt, jsonOf } from './console-under-test.ts';
import type { LoopbackRequest } from './loopback-request.ts';

afterAll(closeConsoles);

const idOf = (n: number) => `0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c0${n}`;

const aDeadLetter = (n: number, reason: string, sentAt = Date.now() - 60_000) => ({
  id: idOf(n),
  sentAt,
  body: JSON.stringify({ queue: 'orders', id: `m${n}`, data: n }),
  attributes: { reason: { type: 'String', text: reason } },
});

/** A console whose ingress dead letters are in memory; the other queues are empty. */
const served = async (over: Partial<DeadLetterQueue> = {}, open?: () => Promise<DeadLetterAccess>) => {
  const clock = { now: () => Date.now(), sleep: () => Promise.resolve() };
  const ingress = inMemoryDeadLetterQueue(clock);
  ingress.put(aDeadLetter(0, 'queue_missing'), aDeadLetter(1, 'not_json'), aDeadLetter(2, 'not_json'));
  const workQueues = inMemoryWorkQueues();
  const access: DeadLetterAccess = {
    name: 'Posthaste',
    place: 'Posthaste, account 111122223333, us-east-1',
    portsOf: (which) => ({
      clock,
      deadLetters: which === 'ingress' ? { ...ingress, ...over } : inMemoryDeadLetterQueue(clock),
    }),
    workQueues,
    api: () => Promise.reject(new Problem('no API is expected')),
  };
  const target = {
    ...deploymentAt('http://127.0.0.1:9'),
    deadLetters: open ?? (() => Promise.resolve(access)),
  };
  const console = await consoleOf(target);
  const ask = (path: string, more: Partial<LoopbackRequest> = {}) =>
    asPage(console, { path: `/api-local/dead-letters${path}`, ...more });
  const post = (path: string, body: unknown) => ask(path, { method: 'POST', body: JSON.stringify(body) });
  return { ingress, workQueues, ask, post };
};

describe('the dead letters behind the console', () => {
  let there: Awaited<ReturnType<typeof served>>;
  beforeEach(async () => {
    there = await served();
  });

  it('are counted by queue', async () => {
    const { queues } = deadLetterCountsSchema.parse(jsonOf(await there.ask('')));
    expect(queues).toEqual([
      { which: 'ingress', visible: 3, hidden: 0 },
      { which: 'delivery', visible: 0, hidden: 0 },
      { which: 'operation', visible: 0, hidden: 0 },
      { which: 'undeliverable', visible: 0, hidden: 0 },
    ]);
  });

  it('are listed by a filter, and are visible again', async () => {
    const look = deadLetterLookSchema.parse(jsonOf(await there.ask('/ingress?reason=not_json&queue=orders')));
    const place = 'Posthaste, account 111122223333, us-east-1';
    expect(look).toMatchObject({ place, total: 3, complete: true, hidden: 0 });
    expect(look.deadLetters.map(({ id }) => id)).toEqual([idOf(1), idOf(2)]);
    const first = deadLetterLookSchema.parse(jsonOf(await there.ask('/ingress?limit=1')));
    expect(first).toMatchObject({ complete: false, deadLetters: [{ id: idOf(0) }] });
    expect(there.ingress.visible).toHaveLength(3);
  });

  it('are shown whole', async () => {
    const shown = deadLetterDetailSchema.parse(jsonOf(await there.ask(`/ingress/${idOf(1)}`)));
    expect(shown).toMatchObject({
      body: '{"queue":"orders","id":"m1","data":1}',
      attributes: { reason: 'not_json' },
    });
    expect(await there.ask('/ingress/nowhere')).toMatchObject({ status: 404 });
  });

  it('are redriven and deleted if they are chosen', async () => {
    const redriven = await there.post('/ingress/redrive', { ids: [idOf(0)] });
    expect(deadLetterResultSchema.parse(jsonOf(redriven))).toEqual({
      handled: 1,
      settled: {},
      skipped: {},
      missing: 0,
      hidden: 0,
    });
    expect(there.workQueues.sent).toMatchObject([{ to: 'ingress' }]);
    const deleted = await there.post('/ingress/delete', { ids: [idOf(2), idOf(9)] });
    expect(jsonOf(deleted)).toMatchObject({ handled: 1, missing: 1 });
    expect(there.ingress.visible).toEqual([idOf(1)]);
  });

  it('are redriven and deleted if they were sent after the start by this clock, which may be slow', async () => {
    there.ingress.put(
      aDeadLetter(3, 'not_json', Date.now() + 60_000),
      aDeadLetter(4, 'not_json', Date.now() + 60_000),
    );
    const redriven = await there.post('/ingress/redrive', { ids: [idOf(3)] });
    const deleted = await there.post('/ingress/delete', { ids: [idOf(4)] });
    for (const answer of [redriven, deleted])
      expect(jsonOf(answer)).toMatchObject({ handled: 1, missing: 0 });
  });

  it('are not reached without the token, from another origin, or by a wrong request', async () => {
    const path = '/ingress/delete';
    const body = JSON.stringify({ ids: [idOf(0)] });
    const wrong: [Partial<LoopbackRequest>, number][] = [
      [{ headers: { authorization: '' } }, 401],
      [{ headers: { origin: 'https://evil.example' } }, 403],
      [{ headers: { origin: '' } }, 403],
      [{ body: '{"ids":[]}' }, 400],
      [{ body: JSON.stringify({ ids: [idOf(0).slice(0, 35)] }) }, 400],
      [{ body: JSON.stringify({ ids: [idOf(0)], all: true }) }, 400],
      [{ body: '{' }, 400],
      [{ body: ' '.repeat(100_001) }, 413],
    ];
    for (const [more, status] of wrong)
      expect(await there.ask(path, { method: 'POST', body, ...more })).toMatchObject({ status });
    expect(await there.ask('/retry')).toMatchObject({ status: 400 });
    expect(await there.ask('/ingress?limits=1')).toMatchObject({ status: 400 });
    expect(await there.ask('/ingress/redrive/more')).toMatchObject({ status: 404 });
    expect(there.ingress.ids).toHaveLength(3);
  });
});

describe('dead letters that cannot be read', () => {
  const named = (name: string) => Object.assign(new Error('no'), { name });

  it.each([
    ['a missing permission', named('AccessDenied'), 403, 'sqs_forbidden'],
    ['another failure of SQS', named('ServiceUnavailable'), 502, 'unavailable'],
  ])('are reported: %s', async (_, failure, status, code) => {
    const { ask } = await served({ receive: () => Promise.reject(failure) });
    const refused = await ask('/ingress');
    expect({ status: refused.status, said: jsonOf(refused) }).toMatchObject({
      status,
      said: { error: { code } },
    });
  });

  it('are reported: only the address of the API is given, so that the queues found may not belong to it', async () => {
    const env = { POSTHASTE_API_URL: 'https://api.example.com', POSTHASTE_TOKEN: 'token' };
    const target = await deploymentTarget({}, { env, sleep: () => Promise.resolve() });
    const refused = await asPage(await consoleOf(target), { path: '/api-local/dead-letters/ingress' });
    expect(jsonOf(refused)).toMatchObject({
      error: {
        code: 'deployment_not_named',
        message: expect.stringContaining('name the deployment by --deployment') as unknown,
      },
    });
  });

  it('are reported: a deployment that was not found', async () => {
    const { ask } = await served({}, () => Promise.reject(new Problem('no stack')));
    expect(jsonOf(await ask('/ingress'))).toEqual({ error: { code: 'no_deployment', message: 'no stack' } });
  });
});

import { afterAll, describe, expect, it } from 'vitest';
import { closeStubs, json, refusal, stubApi, type StubApi } from './stub-api.ts';

afterAll(closeStubs);

const REFUSED = { code: 'validation', message: 'not an object' };

describe('a queue', () => {
  it.each([
    ['books', ['books', 'oder'], 'orders'],
    ['a list of deliveries', ['deliveries', 'list', 'oder'], 'orders'],
    ['a message', ['message', 'show', 'bill', 'm1'], 'bills-of-last-year'],
    ['a recovery', ['recover', 'start', 'oder', '--since', '1h'], 'orders'],
    ['a published message', ['publish', 'oder', '--data', '1'], 'orders'],
    ['published lines', ['publish', 'oder'], 'orders'],
    ['a deleted queue', ['queue', 'delete', 'oder'], 'orders'],
  ])('is an error with the name that was meant, if it is missing: %s', async (_, args, meant) => {
    const api = await stubApi({
      'GET /v2/queues': () =>
        json({ queues: [{ name: 'orders' }, { name: 'bills-of-last-year' }], links: [] }),
    });
    const { status, stdout, stderr } = await api.run(args, { input: '{"data":1}\n' });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain(
      `There is no queue ${args[0] === 'message' ? 'bill' : 'oder'}. Did you mean ${meant}?\n`,
    );
    expect(stderr.includes('--create')).toBe(args[0] === 'publish');
    expect(
      api.requests.filter(({ method, path }) => method !== 'GET' && !path.endsWith('/recoveries')),
    ).toEqual([]);
  });

  it('is named without a suggestion to a caller who may not list queues', async () => {
    const api = await stubApi({ 'GET /v2/queues': () => json({ message: 'Forbidden' }, 403) });
    expect((await api.run(['books', 'oder'])).stderr).toContain('There is no queue oder. To see all queues,');
  });

  it('is created with a word on it for a new subscription, so that a mistyped name is noticed', async () => {
    const created = { subscription_id: 's1', secret: 'whsec_x' };
    const api = await stubApi({ 'POST /v2/queues/oder/subscriptions': () => json(created, 201) });
    const { status, stderr } = await api.run(['subscription', 'create', 'oder', 'https://example.com']);
    expect(status).toBe(0);
    expect(stderr).toContain('There was no queue oder: it was created.');
  });

  it.each([
    ['create', 'https://example.com/hook', () => refusal(400, 'validation', 'no https')],
    ['import', '-', () => json({ subscriptions: [], failed: [{ line: 1, error: REFUSED }] })],
  ])('is not said to be created if nothing was: subscription %s', async (command, from, answer) => {
    const path = command === 'create' ? 'queues/oder/subscriptions' : 'queues/oder/import';
    const api = await stubApi({ [`POST /v2/${path}`]: answer });
    const { status, stderr } = await api.run(['subscription', command, 'oder', from], { input: '{}\n' });
    expect(status).toBe(1);
    expect(stderr).toMatch(/refused/);
    expect(stderr).not.toContain('There was no queue');
  });

  it('leaves an error as it is if the queue exists', async () => {
    const { stderr } = await (await stubApi({})).run(['message', 'show', 'orders', 'm1']);
    expect(stderr).toContain('was refused (404 not_found)');
  });
});

describe('posthaste queue delete', () => {
  const deleting = (...subscriptions: object[]) =>
    stubApi({
      'GET /v2/queues/orders/subscriptions': () => json({ subscriptions, links: [] }),
      'DELETE /v2/queues/orders': () => ({ status: 204, body: '' }),
    });
  const one = {
    id: 's1',
    source: 'orders',
    subscriber: 'https://example.com',
    ttl: null,
    age: 1,
    options: {},
    confirmed: true,
  };
  const isDeleted = ({ requests }: StubApi): boolean => requests.some(({ method }) => method === 'DELETE');

  it('is deleted at once if it has no subscriptions, or with --yes', async () => {
    const { stdout } = await (await deleting()).run(['queue', 'delete', 'orders', '--json']);
    expect(stdout).toBe('{"queue":"orders"}\n');
    const { status } = await (await deleting(one)).run(['queue', 'delete', 'orders', '--yes']);
    expect(status).toBe(0);
  });

  it('is kept if it has subscriptions and there is no terminal to ask on', async () => {
    const api = await deleting(one);
    const { status, stderr } = await api.run(['queue', 'delete', 'orders']);
    expect(status).toBe(2);
    expect(stderr).toContain('error: queue orders has 1 subscription; add --yes to delete them too');
    expect(isDeleted(api)).toBe(false);
  });

  it.each([
    ['orders', 0],
    ['yes', 1],
    [undefined, 1],
  ])('asks for its name on a terminal, and is answered %s', async (answer, status) => {
    const api = await deleting(one, { ...one, id: 's2' });
    const run = await api.run(['queue', 'delete', 'orders'], {
      onStart: ({ stdin, stderr }) => {
        Object.assign(stdin, { isTTY: true });
        Object.assign(stderr, { isTTY: true });
        stdin.end(answer === undefined ? '' : `${answer}\n`);
      },
    });
    expect(run.stderr).toContain('Queue orders has 2 subscriptions. Type its name to delete them too: ');
    expect({ status: run.status, isDeleted: isDeleted(api) }).toEqual({ status, isDeleted: status === 0 });
  });
});

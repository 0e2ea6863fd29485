import { afterAll, describe, expect, it } from 'vitest';
import { jsonLines } from './run-command.ts';
import { closeStubs, json, stubApi, type StubApi } from './stub-api.ts';

afterAll(closeStubs);

const ID = '5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11';
const view = {
  id: ID,
  source: 'orders',
  subscriber: 'https://example.com/hook',
  ttl: null,
  age: 90,
  options: { post_headers: { authorization: '***' }, raw_delivery: true },
  confirmed: true,
};
const ONE = `/v2/queues/orders/subscriptions/${ID}`;
const LIST = '/v2/queues/orders/subscriptions';

describe('posthaste subscription', () => {
  it('subscribes with all given options, and prints the signing secret once', async () => {
    const created = { subscription_id: 'created', secret: 'whsec_abc' };
    const api = await stubApi({ [`POST ${LIST}`]: () => json(created, 201) });
    const args = [
      '--name',
      'ACME',
      '--ttl',
      '1h',
      '--policy',
      '{"maximum_delay": 60}',
      '--header',
      'X-Team: a:b',
      '--raw',
    ];
    const more = [
      '--event-type',
      'a',
      '--event-type',
      'b',
      '--filter',
      '{"n": [1.0]}',
      '--attempt-timeout',
      '5',
      '--max-per-second',
      '0.5',
      '--retry-throttled',
    ];
    const run = await api.run([
      'subscription',
      'create',
      'orders',
      'https://example.com/hook',
      ...args,
      ...more,
    ]);
    expect(run.stdout).toBe(
      'Created subscription created.\nSigning secret (save it now, it is not shown again): whsec_abc\n',
    );
    expect(api.requests.at(-1)?.body).toBe(
      '{"subscriber":"https://example.com/hook","name":"ACME","ttl":3600,"options":{"_retry_policy":{"maximum_delay": 60},' +
        '"post_headers":{"X-Team":"a:b"},"raw_delivery":true,"attempt_timeout":5,"max_per_second":0.5,"retry_throttled":true,"event_types":["a","b"],"filter":{"n": [1.0]}}}',
    );
  });

  it('reports a confirmation request that could not be sent, after creation and in the list', async () => {
    const created = { subscription_id: 'created', secret: 'whsec_abc', confirmation: 'owed' };
    const waiting = { ...view, confirmed: false, confirmation: 'asked' };
    const owed = { ...waiting, confirmation: 'owed' };
    const api = await stubApi({
      [`POST ${LIST}`]: () => json(created, 201),
      [`GET ${LIST}`]: () => json({ subscriptions: [waiting, owed], links: [] }),
    });
    const { stdout } = await api.run(['subscription', 'create', 'orders', 'https://example.com/hook']);
    expect(stdout).toContain('confirmation request could not be sent');
    expect((await api.run(['subscription', 'list', 'orders'])).stdout).toMatch(
      /unconfirmed {2,}https.*\n.*unconfirmed \(request not sent\) /,
    );
  });

  it('lists subscriptions with their state', async () => {
    const disabled = {
      ...view,
      id: 's2',
      name: 'ACME',
      disabled: { reason: 'gone', at: '2026-01-01T00:00:00.000Z' },
    };
    const api = await stubApi({
      [`GET ${LIST}`]: () => json({ subscriptions: [view, disabled], links: [] }),
    });
    expect((await api.run(['subscription', 'list', 'orders'])).stdout).toBe(
      'Subscription  Name  State            Subscriber\n' +
        '5b0c0f1e            enabled          https://example.com/hook\n' +
        's2            ACME  disabled (gone)  https://example.com/hook\n',
    );
    expect(jsonLines((await api.run(['subscription', 'list', 'orders', '--json'])).stdout)).toEqual([
      view,
      disabled,
    ]);
  });

  it('changes one option and sends the other options unchanged', async () => {
    const api = await stubApi({ [`GET ${ONE}`]: () => json(view), [`PATCH ${ONE}`]: () => json(view) });
    const run = await api.run(['subscription', 'update', 'orders', ID, '--policy', '{}', '--json']);
    expect(jsonLines(run.stdout)).toEqual([view]);
    expect(JSON.parse(api.requests.at(-1)?.body ?? '')).toEqual({
      options: { ...view.options, _retry_policy: {} },
    });
  });

  it.each([
    ['sets', 'ACME', '{"name":"ACME"}'],
    ['removes', '', '{"name":null}'],
  ])('%s a name', async (_, name, body) => {
    const api = await stubApi({ [`PATCH ${ONE}`]: () => json({ ...view, ...(name && { name }) }) });
    const { stdout } = await api.run(['subscription', 'update', 'orders', ID, '--name', name]);
    expect(/^Name +ACME$/m.test(stdout)).toBe(name === 'ACME');
    expect(api.requests.map((request) => request.body)).toEqual([body]);
  });

  it('replaces all options without reading the current ones', async () => {
    const api = await stubApi({ [`PATCH ${ONE}`]: () => json(view) });
    await api.run([
      'subscription',
      'update',
      'orders',
      ID,
      '--options',
      '{}',
      '--url',
      'https://example.com/b',
    ]);
    expect(api.requests.map(({ body }) => body)).toEqual([
      '{"subscriber":"https://example.com/b","options":{}}',
    ]);
  });

  it.each([
    ['a new secret, and prints it', [], '{"subscriber":"https://other.example/"}', 'whsec_new'],
    [
      'the same secret',
      ['--keep-secret'],
      '{"subscriber":"https://other.example/","secret":"keep"}',
      undefined,
    ],
  ])('moves a subscription to another host with %s', async (_name, options, body, secret) => {
    const api = await stubApi({ [`PATCH ${ONE}`]: () => json({ ...view, ...(secret && { secret }) }) });
    const args = ['subscription', 'update', 'orders', ID, '--url', 'https://other.example/', ...options];
    const { stdout } = await api.run(args);
    expect(stdout.includes('New signing secret (save it now, it is not shown again): whsec_new\n')).toBe(
      secret !== undefined,
    );
    expect(api.requests.map((request) => request.body)).toEqual([body]);
  });

  it('disables a subscription, shows how to enable it, and then how to recover what it missed', async () => {
    const disabled = { ...view, disabled: { reason: 'gone', at: '2026-01-01T00:00:00.000Z' } };
    const api = await stubApi({
      [`POST ${ONE}/disable`]: () => json(disabled),
      [`GET ${ONE}`]: () => json(disabled),
      'GET /v2/queues/orders/deliveries': () => json({ deliveries: [], links: [] }),
      [`POST ${ONE}/enable`]: () => json(view),
    });
    const said = async (words: string) => (await api.run(['subscription', words, 'orders', ID])).stdout;
    expect(await said('disable')).toBe(`Disabled subscription ${ID}, https://example.com/hook.\n`);
    expect(await said('show')).toMatch(/\nTo enable it: .* subscription enable orders 5b0c0f1e\n$/);
    expect(await said('enable')).toMatch(
      /^Enabled .*\nTo recover .*: .* recover start orders --subscription 5b0c0f1e --since 1d\n$/,
    );
  });

  it('rotates a secret to one from a file, which other users cannot see', async () => {
    const api = await stubApi({ [`POST ${ONE}/secret/rotate`]: () => json({ secret: 'whsec_new' }) });
    const args = [
      'subscription',
      'rotate-secret',
      'orders',
      ID,
      '--secret-file',
      '-',
      '--grace',
      '60',
      '--json',
    ];
    expect((await api.run(args, { input: 'whsec_new\n' })).stdout).toBe('{"secret":"whsec_new"}\n');
    expect(api.requests[0]?.body).toBe('{"secret":"whsec_new","graceSeconds":60}');
  });

  it.each([
    ['redacted', [], 'GET', '/v2/queues/orders/export'],
    ['with credentials', ['--with-credentials'], 'POST', '/v2/credentials/orders'],
  ])('prints all pages of an export, %s', async (_name, flags, method, path) => {
    const api = await stubApi({
      [`${method} ${path}`]: ({ path: asked }) =>
        asked.includes('marker=m1')
          ? { body: '{"subscriber":"b"}\n' }
          : {
              headers: { link: `<${path}?marker=m1>; rel="next"` },
              body: '{"subscriber":"a"}\n',
            },
    });
    const { stdout } = await api.run(['subscription', 'export', 'orders', ...flags]);
    expect(stdout).toBe('{"subscriber":"a"}\n{"subscriber":"b"}\n');
  });

  describe('that is to be deleted', () => {
    const deleting = () =>
      stubApi({ [`GET ${ONE}`]: () => json(view), [`DELETE ${ONE}`]: () => ({ status: 204, body: '' }) });
    const DELETE = ['subscription', 'delete', 'orders', ID];
    const deletions = ({ requests }: StubApi) => requests.filter(({ method }) => method === 'DELETE').length;

    it('is deleted without a question by --yes', async () => {
      const api = await deleting();
      const { stdout } = await api.run([...DELETE, '--yes', '--json']);
      expect(stdout).toBe(`{"queue":"orders","subscriptionId":"${ID}"}\n`);
      expect(deletions(api)).toBe(1);
    });

    it('stays without a terminal to ask on', async () => {
      const api = await deleting();
      const { status, stderr } = await api.run(DELETE);
      expect({ status, deletions: deletions(api) }).toEqual({ status: 2, deletions: 0 });
      expect(stderr).toContain(`to delete subscription ${ID}, https://example.com/hook, add --yes`);
    });

    it.each([
      ['y', 0, 1],
      ['', 1, 0],
    ])('is deleted only after a yes: %j', async (answer, status, count) => {
      const api = await deleting();
      const run = await api.run(DELETE, {
        onStart: ({ stdin, stderr }) => {
          Object.assign(stdin, { isTTY: true });
          Object.assign(stderr, { isTTY: true });
          stderr.on('data', (text: Buffer) => {
            if (text.toString().includes('[y/N]')) stdin.write(`${answer}\n`);
          });
        },
      });
      expect({ status: run.status, deletions: deletions(api) }).toEqual({ status, deletions: count });
    });
  });
});

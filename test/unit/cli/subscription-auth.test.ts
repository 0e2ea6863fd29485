import { afterAll, describe, expect, it } from 'vitest';
import { clockTime } from '../../../cli/output/time-text.ts';
import { ID, subscription } from './delivery-views.ts';
import { closeStubs, json, stubApi } from './stub-api.ts';

afterAll(closeStubs);

const LIST = '/v2/queues/orders/subscriptions';
const ONE = `${LIST}/${ID}`;
const view = { ...subscription, options: { raw_delivery: true } };

describe('posthaste subscription --auth-file', () => {
  it('gives and changes credentials from a file, and shows what is not secret of them', async () => {
    const auth = { type: 'basic', username: 'ada', password: '***', certificate: '-----BEGIN' };
    const shown = { ...view, certificateExpiresAt: '2027-01-01T00:00:00.000Z', options: { auth } };
    const api = await stubApi({
      [`POST ${LIST}`]: () => json({ subscription_id: 'created' }, 201),
      [`GET ${ONE}`]: () => json(view),
      [`PATCH ${ONE}`]: () => json(shown),
    });
    const given = '{"type": "basic", "username": "ada", "password": "p"}\n';
    const create = ['subscription', 'create', 'orders', 'https://example.com/', '--auth-file', '-'];
    await api.run(create, { input: given });
    const update = ['subscription', 'update', 'orders', ID, '--auth-file', '-'];
    const { stdout } = await api.run(update, { input: given });
    const options = { auth: JSON.parse(given) as unknown };
    const bodies = api.requests.flatMap(({ body }) => (body === '' ? [] : [JSON.parse(body) as unknown]));
    expect(bodies).toEqual([
      { subscriber: 'https://example.com/', options },
      { options: { ...view.options, ...options } },
    ]);
    expect(stdout).toMatch(/^Authentication +basic, username: ada, password: \*\*\*$/m);
    expect(stdout).toContain(`Certificate expires  ${clockTime('2027-01-01T00:00:00.000Z')}\n`);
    expect(stdout).not.toContain('BEGIN');
  });

  it('does not quote a file with credentials that it cannot read', async () => {
    const api = await stubApi({});
    const create = ['subscription', 'create', 'orders', 'https://example.com/', '--auth-file', '-'];
    for (const input of ['{"password": secret}', '["secret"]']) {
      const { status, stderr } = await api.run(create, { input });
      expect(status).toBe(1);
      expect(stderr).not.toContain('secret');
      expect(stderr).toContain('must contain a JSON object');
    }
    expect(api.requests).toEqual([]);
  });
});

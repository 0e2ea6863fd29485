import { describe, expect, it } from 'vitest';
import { ID, subscription } from './delivery-views.ts';
import { json, runOn, stubApi } from './stub-api.ts';

const ONE = `/v2/queues/orders/subscriptions/${ID}`;
const RECOVER = 'posthaste -- recover start orders --subscription 5b0c0f1e --by failure --since';

describe('posthaste subscription update --url', () => {
  const auth = { type: 'header', name: 'x-api-key', value: '***' };
  const post_headers = { authorization: '***', 'X-Team': 'a' };
  const before = { ...subscription, options: { auth, post_headers } };

  /** What the command says if the subscription is like this afterwards. */
  const moved = async (after: object, more = '') => {
    const routes = { [`GET ${ONE}`]: json(before), [`PATCH ${ONE}`]: json({ ...before, ...after }) };
    const run = await runOn(routes, `subscription update orders ${ID} --url https://b.example/${more}`);
    return run.stdout;
  };

  it('says what was removed with a move to another origin', async () => {
    const stdout = await moved({ options: { post_headers: { 'X-Team': 'a' } } }, ' --keep-secret');
    expect(stdout).toContain(
      '\nRemoved: the authentication (header), the header authorization. To give them again, use --auth-file or --header.\n',
    );
    expect(stdout).not.toMatch(/secret|401/);
  });

  it('says from when on the new secret signs, what a 401 means, and how to recover', async () => {
    const stdout = await moved({ secret: 'whsec_new' });
    expect(stdout).toContain('New signing secret (save it now, it is not shown again): whsec_new\n');
    expect(stdout).toContain('\nIt signs from now on. A subscriber that still verifies with the old one');
    const [, since = ''] = new RegExp(`: .*${RECOVER} (\\S+) --status rejected\n$`).exec(stdout) ?? [];
    expect(Math.abs(Date.now() - Date.parse(since))).toBeLessThan(10_000);
  });

  it('says nothing of what stays', async () => {
    expect(await moved({})).not.toMatch(/Removed|secret/);
  });
});

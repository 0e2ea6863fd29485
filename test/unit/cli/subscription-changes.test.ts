import { describe, expect, it } from 'vitest';
import { clockTime } from '../../../cli/output/text.ts';
import { AT, ID, subscription } from './delivery-views.ts';
import { FORBIDDEN, json, runOn } from './stub-api.ts';

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
    expect(stdout).toContain('\nIt signs from now on: a subscriber that does not have it yet answers 401,');
    const [, since = ''] = new RegExp(`: .*${RECOVER} (\\S+) --status rejected\n$`).exec(stdout) ?? [];
    expect(Math.abs(Date.now() - Date.parse(since))).toBeLessThan(10_000);
  });

  it('changes the URL for a caller who may not read it', async () => {
    const routes = { [`GET ${ONE}`]: FORBIDDEN, [`PATCH ${ONE}`]: json(before) };
    const run = await runOn(routes, `subscription update orders ${ID} --url https://b.example/`);
    expect(run).toMatchObject({ status: 0, stderr: expect.not.stringContaining('Forbidden') as unknown });
  });

  it('says nothing of what stays', async () => {
    expect(await moved({})).not.toMatch(/Removed|secret/);
  });
});

describe('posthaste subscription disable and enable', () => {
  const disabled = { ...subscription, disabled: { reason: 'manual', at: AT } };
  const enabled = async (before: object) => {
    const routes = { [`GET ${ONE}`]: json(before), [`POST ${ONE}/enable`]: json(subscription) };
    return (await runOn(routes, `subscription enable orders ${ID}`)).stdout;
  };

  it('says that open deliveries are cancelled too, in the answer and the help', async () => {
    const { stdout } = await runOn(
      { [`POST ${ONE}/disable`]: json(disabled) },
      `subscription disable orders ${ID}`,
    );
    expect(stdout).toMatch(
      /^Disabled subscription 5b0c0f1e-.*, ACME\.\nUntil it is enabled, new deliveries are cancelled, and open ones when/,
    );
    expect(stdout).toMatch(/recover them:\n.* subscription enable orders 5b0c0f1e\n$/);
    const help = (await runOn({}, 'subscription disable --help')).stdout;
    expect(help).toMatch(/and\s+open\s+ones\s+when\s+their\s+next\s+attempt\s+is\s+due/);
  });

  it('recovers only what was cancelled while it was disabled, by the command that it prints', async () => {
    expect(await enabled(disabled)).toMatch(
      new RegExp(
        `\nTo recover what was cancelled while it was disabled: .*${RECOVER} ${AT} --status cancelled\n$`,
      ),
    );
  });

  it('works for a caller who may not read it', async () => {
    const routes = { [`GET ${ONE}`]: FORBIDDEN, [`POST ${ONE}/enable`]: json(subscription) };
    expect(await runOn(routes, `subscription enable orders ${ID}`)).toMatchObject({ status: 0 });
  });

  it('has nothing to recover of one that was slowed', async () => {
    expect(await enabled(subscription)).toMatch(/^Enabled .*\n$/);
  });
});

describe('the grace of what a subscription replaces', () => {
  const rotating = (grace: string, previousExpiresAt = AT) =>
    runOn(
      { [`POST ${ONE}/secret/rotate`]: json({ previousExpiresAt }) },
      `subscription rotate-secret orders ${ID} --grace ${grace}`,
    );

  it.each([
    ['60', 60],
    ['30m', 1800],
  ])('is given in seconds or as a duration: %s', async (grace, graceSeconds) => {
    const { stdout, requests } = await rotating(grace);
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual({ graceSeconds });
    expect(stdout).toBe(`The old secret stays valid until ${clockTime(AT)}.\n`);
  });

  it('of zero ends at once', async () => {
    expect((await rotating('0')).stdout).toBe('The old secret ended at once.\n');
  });

  it('is whole seconds', async () => {
    expect(await rotating('0.5')).toMatchObject({ status: 2, requests: [] });
  });
});

describe('posthaste subscription delete and restore', () => {
  const UNTIL = '2026-12-06T12:00:00.000Z';
  const archived = {
    id: ID,
    name: 'ACME',
    subscriber: subscription.subscriber,
    deletedAt: AT,
    restorableUntil: UNTIL,
  };
  const archive = (...subscriptions: object[]) => ({
    'GET /v2/queues/orders/archived-subscriptions': json({ subscriptions, links: [] }),
    [`POST ${ONE}/restore`]: json({ ...subscription, name: 'ACME' }),
  });

  it.each([
    [
      '',
      { 'restorable-until': UNTIL, 'requests-end-within-seconds': '31' },
      `It can be restored until ${clockTime(UNTIL)}: `,
      '',
    ],
    [' --now', {}, 'It cannot be restored.', '?now=true'],
  ])('say whether a deletion can be undone: %s', async (flags, headers, text, search) => {
    const routes = {
      [`GET ${ONE}`]: json(subscription),
      [`DELETE ${ONE}`]: { status: 204, body: '', headers },
    };
    const { stdout, requests } = await runOn(routes, `subscription delete orders ${ID} --yes${flags}`);
    expect(stdout).toContain(text);
    expect(stdout.includes('A request can still go out in the next 31 seconds.')).toBe(flags === '');
    expect(stdout.includes('subscription restore orders 5b0c0f1e')).toBe(flags === '');
    expect(requests.at(-1)?.path).toBe(`${ONE}${search}`);
  });

  it('list what there is to restore, and until when', async () => {
    const { stdout } = await runOn(archive(archived), 'subscription restore orders');
    expect(stdout).toContain(
      `5b0c0f1e      ACME  ${clockTime(AT)}  ${clockTime(UNTIL)}  ${subscription.subscriber}\n`,
    );
    const none = await runOn(archive(), 'subscription restore orders');
    expect(none.stdout).toBe('No deleted subscription of queue orders can be restored.\n');
  });

  it.each([ID, '5b0c', 'ACME', subscription.subscriber])(
    'restore the one that %s means',
    async (reference) => {
      const run = await runOn(archive(archived), ['subscription', 'restore', 'orders', reference]);
      expect(run.stdout).toContain(`Restored subscription ${ID}, ACME.`);
      expect(run.stdout).toContain('recover start orders --subscription 5b0c0f1e --since 7d\n');
    },
  );

  it.each([
    ['none', [], 'No deleted subscription ACME can be restored.'],
    ['several', [archived, { ...archived, id: 'other' }], 'ACME fits several deleted subscriptions.'],
  ])('restore nothing if %s fits', async (_many, found, text) => {
    const { status, stderr, requests } = await runOn(archive(...found), 'subscription restore orders ACME');
    expect(status).toBe(1);
    expect(stderr).toContain(text);
    expect(requests.filter(({ method }) => method === 'POST')).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';
import { clockTime } from '../../../cli/output/text.ts';
import { json, runOn } from './stub-api.ts';

const EXPIRES = '2036-01-01T09:00:00.000Z';
const LINK = {
  url: 'https://hooks.example/portal/#phlink_x',
  session_id: 'customer-42',
  expires_at: EXPIRES,
};
const routes = { 'POST /v2/queues/acme/portal-links': json(LINK) };

const bodyOf = ({ requests }: { requests: readonly { body: string }[] }): unknown =>
  JSON.parse(requests.at(-1)?.body ?? '');

describe('posthaste portal link', () => {
  it('prints the link, until when it can be opened, and how to end it', async () => {
    const run = await runOn(routes, 'portal link acme');
    expect(run.stdout).toBe(
      `${LINK.url}\nIt can be opened once, until ${clockTime(EXPIRES)}. The session then lasts 8 hours.\n` +
        'To end it: npm run -s posthaste -- portal end acme customer-42\n',
    );
    expect(bodyOf(run)).toEqual({ capabilities: [] });
  });

  it('sends what the customer may do, for which events and how long', async () => {
    const options = '--capability manage test --event-type a.b --event-type c --expires-in 1d --session-id x';
    expect(bodyOf(await runOn(routes, `portal link acme ${options}`))).toEqual({
      capabilities: ['manage', 'test'],
      event_types: ['a.b', 'c'],
      expires_in: 86_400,
      session_id: 'x',
    });
  });

  it.each([
    ['--capability own', 'Allowed choices are'],
    ['--expires-in 59', 'Expected 1m to 7d.'],
    ['--expires-in 10d', 'Expected 1m to 7d.'],
    ['--expires-in soon', 'Expected seconds, or a duration such as 90s, 30m, 1h, 2d.'],
  ])('refuses %s and says what is possible', async (option, sentence) => {
    const { status, stderr, requests } = await runOn(routes, `portal link acme ${option}`);
    expect({ status, requests }).toEqual({ status: 2, requests: [] });
    expect(stderr).toContain(sentence);
  });
});

describe('posthaste portal end', () => {
  const ended = { 'DELETE /v2/queues/acme/portal-links/customer-42': { status: 204, body: '' } };

  it('ends the sessions of an id', async () => {
    const run = await runOn({ ...ended, 'GET /v2/queues/acme': json({}) }, 'portal end acme customer-42');
    expect(run.stdout).toBe('Ended customer-42 on queue acme.\n');
  });

  it('refuses a queue that does not exist', async () => {
    const named = { 'GET /v2/queues': json({ queues: [{ name: 'acmes' }] }) };
    const { status, stderr } = await runOn({ ...ended, ...named }, 'portal end acme customer-42');
    expect({ status, stderr }).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('There is no queue acme. Did you mean acmes?') as unknown,
    });
  });
});

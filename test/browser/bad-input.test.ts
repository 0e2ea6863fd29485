import { parseDestination } from '../../shared/domain/subscription/destination.ts';
import { beforeEach, expect, it } from 'vitest';
import { addSubscription } from '../support/add-subscription.ts';
import { anAttempt, answered } from '../support/delivery-builders.ts';
import { apiEnvironment } from '../unit/cli/run-command.ts';
import * as z from 'zod';
import { failures, record, subscribe } from './busy-deployment.ts';
import { inBrowser } from './chromium.ts';
import { startConsoleCommand } from './console-command.ts';
import { axeViolations, goTo, isTooWide, openPage } from './console-page.ts';
import { runningConsole } from './running-console.ts';
import { servedApi } from './served-api.ts';

const MARKUP = '<img src=x onerror="window.hit=1"><script>window.hit=1</script><b>bold</b>';

const problem = (status: number, code: string, message: string): Response =>
  Response.json({ error: { code, message } }, { status });

inBrowser('the console with unusual input', () => {
  const there = runningConsole(async () => ({ api: await servedApi() }));
  beforeEach(() => {
    there().api.answerInstead(() => undefined);
  });

  it('offers to create the first queue of a new deployment', async () => {
    const page = await there().openAt('#/');
    await page.getByLabel('Name of the first queue').fill('first');
    await page.getByRole('button', { name: 'Create queue' }).click();
    await page.getByRole('heading', { level: 1, name: 'Queue first' }).waitFor();
    await page.getByText('No subscriptions yet').waitFor();
  });

  it('reports an unavailable API, and continues when it is back', async () => {
    there().api.answerInstead(() => problem(503, 'unavailable', 'no worker'));
    const page = await there().openAt('#/');
    await page.getByText('The API is unavailable').first().waitFor();
    expect(await axeViolations(page)).toEqual([]);
    there().api.answerInstead(() => undefined);
    await page.getByRole('link', { name: 'first', exact: true }).waitFor();
  });

  it('reports an unreachable API; the policy designer still works', async () => {
    const own = await startConsoleCommand(apiEnvironment('http://127.0.0.1:9'));
    const { page } = await openPage(there().browser, own.url);
    await page.getByText('No response from the API').first().waitFor();
    await goTo(page, '#/designer');
    await page.getByText('20 requests over 4 min 40 s').waitFor();
    await own.stop();
  });

  it('says once that its session has ended, and keeps what it shows', async () => {
    const page = await there().openAt('#/queues/first');
    await page.getByRole('textbox', { name: 'Type' }).fill('order.created');
    await page.route('**/api/**', (route) =>
      route.fulfill({
        status: 401,
        json: { error: { code: 'token_refused', message: 'it is of an earlier run' } },
      }),
    );
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByText('The session of this page has ended').waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.getByRole('alert').count()).toBe(1);
    expect(await page.getByRole('textbox', { name: 'Type' }).inputValue()).toBe('order.created');
  });

  it('says how to renew expired credentials', async () => {
    there().api.answerInstead(() =>
      Response.json({ message: 'The security token included in the request is expired' }, { status: 403 }),
    );
    const page = await there().openAt('#/queues/first');
    await page.getByText('Your credentials have expired').first().waitFor();
    await page
      .getByText(/aws sso login/)
      .first()
      .waitFor();
  });

  it('names both versions when the deployment has a different one', async () => {
    there().api.answerInstead(({ path }) =>
      path.startsWith('/v2/openapi.json') ? Response.json({ info: { version: '99.0.0' } }) : undefined,
    );
    const page = await there().openAt('#/');
    await page.getByText(/The deployment runs version 99\.0\.0, this console is version /).waitFor();
  });

  it('names the field of a response that it cannot read', async () => {
    there().api.answerInstead(({ path }) =>
      path.startsWith('/v2/queues?') ? Response.json({ queues: [{ title: 'x' }], links: [] }) : undefined,
    );
    const page = await there().openAt('#/');
    await page.getByText('The deployment runs a different version').waitFor();
    await page.getByText(/\(queues\.0\.name\)/).waitFor();
  });

  it.each([
    '#/queues/nowhere/subscriptions/s',
    '#/queues/first/subscriptions/s',
    '#/queues/first/messages/m/deliveries/s',
  ])('reports once that the subject of a page does not exist: %s', async (hash) => {
    const page = await there().openAt(hash);
    await page.getByText('Not found', { exact: true }).first().waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.getByText('Not found', { exact: true }).count()).toBe(1);
    expect(await axeViolations(page)).toEqual([]);
  });

  it('shows the first of 10,000 queues and opens any of them by name', async () => {
    const many = await servedApi();
    for (let index = 0; index < 10_000; index += 1)
      await many.registry.putQueue({
        name: `queue-${String(index).padStart(5, '0')}`,
        metadata: {},
        createdAt: 0,
      });
    const own = await startConsoleCommand(apiEnvironment(many.url));
    const { page } = await openPage(there().browser, own.url);
    await page.getByRole('link', { name: 'queue-00024' }).waitFor();
    expect(await page.getByRole('row').count()).toBe(26);
    await page.getByRole('button', { name: 'Show more queues' }).click();
    await page.getByRole('link', { name: 'queue-00049' }).waitFor();
    await page.getByLabel('Queue name').fill('queue-09999');
    await page.getByRole('button', { name: 'Go' }).click();
    await page.getByRole('heading', { level: 1, name: 'Queue queue-09999' }).waitFor();
    await own.stop();
    await many.close();
  });

  it('says that an attempt is in flight, in place of a planned one', async () => {
    const now = Date.now();
    const subscription = await subscribe(there().api, 'first', {
      subscriber: 'https://hooks.example.com/fly',
    });
    await record(there().api, {
      ...{ queue: 'first', messageId: 'flies', acceptedAt: now - 60_000 },
      deliveries: [
        { subscriptionId: subscription, status: 'retrying', ...failures(now - 60_000, now - 30_000) },
      ],
    });
    const page = await there().openAt('#/');
    const inFlight = { since: new Date(now).toISOString(), until: new Date(now + 600_000).toISOString() };
    await page.route(`**/messages/flies/deliveries/${subscription}`, async (route) => {
      const delivery = z.record(z.string(), z.unknown()).parse(await (await route.fetch()).json());
      await route.fulfill({ json: { ...delivery, inFlight } });
    });
    await goTo(page, `#/queues/first/messages/flies/deliveries/${subscription}`);
    await page.getByText('In flight').waitFor();
    expect(await page.getByText('Next attempt', { exact: true }).count()).toBe(0);
  });

  it('shows each of 120 attempts in the table and on the timeline', async () => {
    const now = Date.now();
    const subscription = await subscribe(there().api, 'first', {
      subscriber: 'https://hooks.example.com/120',
    });
    const attempts = Array.from({ length: 120 }, (_, index) => {
      const dueAt = now - (120 - index) * 60_000;
      return anAttempt({
        number: index + 1,
        ...(index > 0 && { phase: 'backoff', by: 'sqs_delay', dueAt }),
        startedAt: dueAt + 150,
        durationMs: 20 + index,
        result: answered(500, `attempt ${index + 1}`),
      });
    });
    const ended = { status: 'exhausted', reason: 'retries_exhausted', attempts } as const;
    await record(there().api, {
      ...{ queue: 'first', messageId: 'm120', acceptedAt: now - 7_300_000 },
      deliveries: [{ subscriptionId: subscription, ...ended }],
    });
    const page = await there().openAt(`#/queues/first/messages/m120/deliveries/${subscription}`);
    await page.getByText('attempt 120', { exact: true }).waitFor();
    expect(await page.locator('[data-attempt]').count()).toBe(120);
    expect(await page.getByRole('row').count()).toBe(121);
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await expect.poll(() => page.locator('[data-attempt]').count()).toBeLessThan(80);
    expect(await axeViolations(page)).toEqual([]);
  });

  it('shows the beginning of a payload of 1 MiB, and all of it on demand', async () => {
    const data = `{"text":"${'x'.repeat(1_048_000)}the end"}`;
    await record(there().api, {
      queue: 'first',
      messageId: 'large',
      acceptedAt: Date.now(),
      data,
      deliveries: [],
    });
    const page = await there().openAt('#/queues/first/messages/large');
    await page.getByText(/The first 8,000 of 1,048,0\d\d characters/).waitFor();
    expect(await page.getByText('the end').count()).toBe(0);
    await page.getByRole('button', { name: 'Show all' }).click();
    expect(await page.locator('pre').textContent()).toBe(data);
    expect(await isTooWide(page)).toBe(false);
  });

  it('shows markup from producers, subscribers and operators as plain text', async () => {
    const now = Date.now();
    await there().api.registry.putQueue({ name: 'planted', metadata: { [MARKUP]: MARKUP }, createdAt: now });
    const options = { post_headers: { 'x-note': MARKUP }, event_types: [MARKUP], post_data: MARKUP };
    await addSubscription(there().api.registry, {
      ...{ id: 'planted-1', queue: 'planted', createdAt: now, options },
      destination: parseDestination(`https://hooks.example.com/?q=${MARKUP}`),
    });
    await addSubscription(there().api.registry, {
      ...{ id: 'planted-2', queue: 'planted', createdAt: now, options: {} },
      destination: parseDestination('javascript:window.hit=1'),
    });
    await record(there().api, {
      queue: 'planted',
      messageId: 'm',
      type: MARKUP,
      acceptedAt: now - 1000,
      data: JSON.stringify({ text: MARKUP }),
      deliveries: [
        {
          subscriptionId: 'planted-1',
          status: 'rejected',
          reason: MARKUP,
          attempts: [
            anAttempt({
              startedAt: now,
              result: { kind: 'unanswered', error: 'tls_failed', detail: MARKUP },
            }),
            anAttempt({ startedAt: now, number: 2, outcome: 'rejected', result: answered(400, MARKUP) }),
          ],
        },
      ],
    });
    const { page, faults } = await there().open();
    for (const path of [
      '#/queues/planted',
      '#/queues/planted/subscriptions/planted-1',
      '#/queues/planted/messages',
      '#/queues/planted/messages/m',
      '#/queues/planted/messages/m/deliveries/planted-1',
      '#/queues/planted/deliveries',
      '#/queues/planted/recovery',
    ]) {
      await goTo(page, path);
      const shown = page.locator('main');
      await expect.poll(() => shown.textContent(), { message: path }).toContain('onerror="window.hit=1"');
      expect(await page.locator('main img, main script, main b').count(), path).toBe(0);
    }
    await goTo(page, '#/queues/planted/subscriptions/planted-2');
    await page.getByText('javascript:window.hit=1').first().waitFor();
    expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
    expect(await page.evaluate('window.hit')).toBeUndefined();
    expect(faults).toEqual([]);
  });
});

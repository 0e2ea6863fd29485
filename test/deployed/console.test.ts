import { randomUUID } from 'node:crypto';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { awsEnvironment, plainEnvironment } from '../../local/local-aws.ts';
import { encodeOperation } from '../../shared/wire/jobs/operation.ts';
import { callApi, finishedDelivery, putQueue, subscribe } from '../support/api-client.ts';
import { NO_RETRIES } from '../support/builders.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { send } from '../support/sqs-messages.ts';
import { inBrowser, launchChromium } from '../browser/chromium.ts';
import { startConsoleCommand, type RunningConsole } from '../browser/console-command.ts';
import { axeViolations, goTo, openPage } from '../browser/console-page.ts';

const { apiUrl, endpoint, operationDeadLetterUrl } = deployment.endpoints;

const MARKUP = '<img src=x onerror="document.title=1"><b>bold</b>';

/** Compared as a whole: a failure appears in the same place, and the comparison then prints it. */
const POLICY_APPLIED =
  'Policy appliedIt applies to deliveries that first fail from now on. Deliveries that are being retried keep their policy.';
const WITHIN = { timeout: 20_000 };

let browser: Browser;
let served: RunningConsole;
let receiver: Receiver;

const status = (page: Page, text: string) => page.locator('.status').getByText(text, { exact: true }).first();

inBrowser('the console on the deployed system', () => {
  beforeAll(async () => {
    [browser, served, receiver] = await Promise.all([
      launchChromium(),
      startConsoleCommand(
        {
          ...plainEnvironment(),
          ...awsEnvironment(endpoint, deployment.endpoints),
          POSTHASTE_API_URL: apiUrl,
        },
        ['--deployment', 'Posthaste'],
      ),
      startReceiver(),
    ]);
  });

  afterAll(async () => {
    await Promise.all([browser.close(), receiver.close()]);
    expect(await served.stop()).toBe(0);
  });

  it.concurrent(
    'shows the response of a rejected delivery, and delivers it again after a click',
    async () => {
      const queue = `console-${randomUUID()}`;
      receiver.script(`/${queue}`, [{ status: 400, body: MARKUP }, { status: 200 }]);
      const subscription = await subscribe(queue, receiver.url(`/${queue}`));
      await callApi('POST', `/v2/queues/${queue}/messages`, {
        messages: [{ id: 'm', body: { text: MARKUP } }],
      });
      expect(await finishedDelivery(queue, 'm')).toMatchObject({ status: 'rejected' });

      const { page, faults, close } = await openPage(browser, served.url);
      await page.getByRole('link', { name: queue }).first().waitFor();
      await page.goto(
        `${new URL(served.url).origin}/#/queues/${queue}/messages/m/deliveries/${subscription}`,
      );
      await page.getByText(MARKUP).first().waitFor();
      const delivered = page.locator('.status').getByText('delivered', { exact: true });
      expect(await delivered.count()).toBe(0);
      expect(await axeViolations(page)).toEqual([]);

      await page.getByRole('button', { name: 'Deliver again' }).click();
      const [first, second] = await receiver.waitFor(`/${queue}`, 2);
      expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
      // The page shows it without a reload.
      await delivered.first().waitFor();
      expect(faults).toEqual([]);
      await close();
    },
  );

  it('publishes a message on the page of a queue, and shows its delivery', async () => {
    const queue = `console-publish-${randomUUID().slice(0, 8)}`;
    await subscribe(queue, receiver.url(`/${queue}`));
    const { page, faults, close } = await openPage(browser, served.url);
    await page.getByLabel('Queue name').fill(queue);
    await page.getByRole('button', { name: 'Go' }).click();
    await page.getByLabel('Type', { exact: true }).fill('order.created');
    await page.getByLabel('Data', { exact: true }).fill('{"total": 12345678901234567890}');
    await page.getByRole('button', { name: 'Publish' }).click();
    const [request] = await receiver.waitFor(`/${queue}`, 1);
    expect(request?.body.toString()).toContain('"data":{"total": 12345678901234567890}');
    await page.getByText('1 delivered').waitFor();
    await page.locator('.notice a').click();
    await status(page, 'delivered').waitFor();
    await goTo(page, '#/');
    await page.getByRole('link', { name: queue }).waitFor();
    expect(faults).toEqual([]);
    await close();
  });

  it.concurrent(
    'sends a test message, disables and enables a subscription, and rotates its secret',
    async () => {
      const queue = `console-subscription-${randomUUID().slice(0, 8)}`;
      const id = await subscribe(queue, receiver.url(`/${queue}`));
      const { page, faults, close } = await openPage(browser, served.url);
      await goTo(page, `#/queues/${queue}/subscriptions/${id}`);
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText(/Response: 200/).waitFor();
      await page.getByRole('button', { name: 'Disable' }).click();
      await page.getByRole('button', { name: 'Disable the subscription' }).click();
      await status(page, 'disabled').waitFor();
      await page.getByRole('button', { name: 'Enable' }).click();
      await status(page, 'enabled').waitFor();
      await page.getByRole('button', { name: 'Rotate secret' }).click();
      await page.getByRole('button', { name: 'Rotate', exact: true }).click();
      expect(await page.locator('code.secret').textContent()).toMatch(/^whsec_/);
      await page.getByRole('button', { name: 'Done' }).click();
      // The list of recent deliveries shows it without a reload.
      await page.getByRole('cell', { name: 'delivered' }).waitFor();
      expect(faults).toEqual([]);
      await close();
    },
  );

  it('shows the planned retries of a delivery, and retries it now', async () => {
    const queue = `console-retry-${randomUUID().slice(0, 8)}`;
    receiver.script(`/${queue}`, [{ status: 503, body: 'not now' }, { status: 200 }]);
    await putQueue(queue, {
      ...NO_RETRIES,
      minimum_delay: 600,
      minimum_delay_retries: 4,
      maximum_delay: 600,
    });
    const id = await subscribe(queue, receiver.url(`/${queue}`));
    const { page, faults, close } = await openPage(browser, served.url);
    await goTo(page, `#/queues/${queue}`);
    await page.getByRole('button', { name: 'Publish' }).click();
    await receiver.waitFor(`/${queue}`, 1);
    await page.getByText('1 retrying').waitFor();
    const message = (await page.locator('.notice a').textContent()) ?? '';
    await goTo(page, `#/queues/${queue}/messages/${message}/deliveries/${id}`);
    await page.getByText('not now').waitFor();
    expect(await page.locator('[data-attempt].tone-planned').count()).toBe(4);
    await page.getByRole('button', { name: 'Retry now' }).click();
    await status(page, 'delivered').waitFor();
    expect(await page.locator('[data-attempt].tone-planned').count()).toBe(0);
    expect(faults).toEqual([]);
    await close();
  });

  it('applies a policy, recovers a delivery that ran out of retries, and shows balanced figures', async () => {
    const queue = `console-recovery-${randomUUID().slice(0, 8)}`;
    receiver.script(`/${queue}`, [{ status: 503 }, { status: 200 }]);
    await putQueue(queue);
    await subscribe(queue, receiver.url(`/${queue}`));
    const { page, faults, close } = await openPage(browser, served.url);
    await goTo(page, `#/designer?queue=${queue}`);
    for (const field of [
      'Retries with no delay',
      'Minimum delay retries',
      'Backoff retries',
      'Maximum delay retries',
    ])
      await page.getByLabel(field, { exact: true }).fill('0');
    await page.getByText('1 request').waitFor();
    await page.getByRole('button', { name: 'Apply' }).click();
    await expect.poll(() => page.locator('.notice').allTextContents(), WITHIN).toEqual([POLICY_APPLIED]);

    await goTo(page, `#/queues/${queue}`);
    await page.getByRole('button', { name: 'Publish' }).click();
    const message = (await page.locator('.notice a').textContent()) ?? '';
    expect(await finishedDelivery(queue, message)).toMatchObject({ status: 'exhausted' });

    await goTo(page, `#/queues/${queue}/recovery`);
    // The listing is eventually consistent: the delivery appears about a second after it failed.
    const start = page.getByRole('button', { name: 'Recover 1 delivery' });
    await eventually('a delivery to recover', async () => {
      await page.getByRole('button', { name: 'Count matching deliveries' }).click();
      await page.locator('.notice-title').waitFor();
      return (await start.count()) === 1 ? true : undefined;
    });
    await start.click();
    await receiver.waitFor(`/${queue}`, 2);
    await page.getByText('completed', { exact: true }).waitFor();

    await goTo(page, `#/queues/${queue}/books`);
    await page.getByText('Balanced:').waitFor();
    await page
      .locator('.flow')
      .getByRole('link', { name: /1\s*delivered/ })
      .click();
    await page.getByRole('link', { name: message }).waitFor();
    expect(faults).toEqual([]);
    await close();
  });

  it('looks at dead letters, shows one, redrives one and deletes one', async () => {
    const queue = `console-dead-${randomUUID().slice(0, 8)}`;
    const operation = { kind: 'recovery', queue, recoveryId: randomUUID(), orderedAt: Date.now() } as const;
    await send(operationDeadLetterUrl, `${MARKUP} ${queue}`, { reason: 'not_json' });
    await send(operationDeadLetterUrl, encodeOperation(operation), { reason: 'not_json' });
    const { page, faults, close } = await openPage(browser, served.url);
    await goTo(page, '#/dead-letters?which=operation');
    await page.getByLabel('Reason').fill('not_json');
    await page.getByRole('button', { name: 'Filter' }).click();
    const rowOf = (text: string) => page.getByRole('row').filter({ hasText: text });
    const [garbage, redrivable] = [rowOf(`${MARKUP} ${queue}`), rowOf(operation.recoveryId)];
    // Other tests look at the same queue, which hides its messages for moments.
    await eventually('both dead letters', async () => {
      await page.locator('.skeleton').waitFor({ state: 'detached' });
      if ((await garbage.count()) + (await redrivable.count()) === 2) return true;
      await page.getByRole('button', { name: 'Look again' }).click();
      return undefined;
    });
    expect(await axeViolations(page)).toEqual([]);
    await garbage.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('dialog').getByText(MARKUP).waitFor();
    await page.getByRole('dialog').getByText('Posthaste, account').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();

    const change = async (row: typeof garbage, verb: string, result: string) => {
      await row.getByRole('checkbox').check();
      await page.getByRole('button', { name: `${verb} 1 dead letter` }).click();
      await page.getByRole('dialog').getByText('In Posthaste, account').waitFor();
      await page.getByRole('dialog').getByRole('button', { name: verb, exact: true }).click();
      await page.getByText(result).waitFor();
      await page.getByRole('button', { name: 'Done' }).click();
      await row.waitFor({ state: 'detached' });
    };
    await change(redrivable, 'Redrive', '1 redriven.');
    await change(garbage, 'Delete', '1 deleted.');
    expect(faults).toEqual([]);
    await close();
  });
});

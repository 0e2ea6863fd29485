import { randomUUID } from 'node:crypto';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { encodeOperation } from '../../shared/wire/jobs/operation.ts';
import { callApi } from '../support/api-client.ts';
import { commandEnvironment } from '../support/deployed-command.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { send } from '../support/sqs-messages.ts';
import { inBrowser, launchChromium } from '../browser/chromium.ts';
import { startConsoleCommand, type RunningConsole } from '../browser/console-command.ts';
import { axeViolations, goTo, openPage } from '../browser/console-page.ts';

const { operationDeadLetterUrl } = deployment.endpoints;

const MARKUP = '<img src=x onerror="document.title=1"><b>bold</b>';

const DATA = '{"total": 12345678901234567890}';

let browser: Browser;
let served: RunningConsole;
const receiver = await receiverOfTests();

inBrowser('the console on the deployed system', () => {
  beforeAll(async () => {
    [browser, served] = await Promise.all([
      launchChromium(),
      startConsoleCommand(commandEnvironment, ['--deployment', 'Posthaste']),
    ]);
  });

  afterAll(async () => {
    await browser.close();
    expect(await served.stop()).toBe(0);
  });

  // Each form and page by itself is tested in test/browser/.
  it('takes a queue from its creation through a failed and a retried delivery to its deletion', async () => {
    const queue = `console-${randomUUID().slice(0, 8)}`;
    const path = `/${queue}`;
    const { page, faults } = await openPage(browser, served.url);
    const dialog = page.getByRole('dialog');
    const click = (name: string, where: Page | Locator = page) =>
      where.getByRole('button', { name, exact: true }).click();

    await goTo(page, `#/queues/${queue}`);
    await click(`Create queue ${queue}`);
    // Only a queue that exists can be edited.
    await page.getByRole('button', { name: 'Edit queue', exact: true }).waitFor();
    await goTo(page, `#/designer?queue=${queue}`);
    await page.getByLabel('Minimum delay, seconds').fill('600');
    await page.getByLabel('Maximum delay, seconds').fill('600');
    await page.getByLabel('Retries with no delay', { exact: true }).fill('0');
    await click('Apply');
    await page.getByText('Policy applied').waitFor();

    await goTo(page, `#/queues/${queue}`);
    await click('Create subscription');
    await dialog.getByLabel('URL').fill(receiver.url(path));
    await click('Create', dialog);
    expect(await dialog.locator('code.secret').textContent()).toMatch(/^whsec_/);
    await click('Done', dialog);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/Response: 200/).waitFor();
    await click('Edit');
    await dialog.getByLabel('Timeout of an attempt, seconds').fill('9');
    await click('Save', dialog);
    await dialog.waitFor({ state: 'detached' });
    const subscription = page.url();

    receiver.script(path, [{ status: 503, body: MARKUP }, { status: 200 }]);
    await goTo(page, `#/queues/${queue}`);
    await page.getByLabel('Data', { exact: true }).fill(DATA);
    await click('Publish');
    const [, request] = await receiver.waitFor(path, 2);
    expect(request?.body.toString()).toContain(`"data":${DATA}`);
    await page.getByText('1 retrying').waitFor();
    const message = await page.locator('.notice a').textContent();
    await goTo(page, `#/queues/${queue}/messages/${message}/deliveries/${subscription.split('/').at(-1)}`);
    await page.getByText(MARKUP).first().waitFor();
    expect(await page.locator('[data-attempt].tone-planned').count()).toBeGreaterThan(0);
    await click('Retry now');
    // The page shows it without a reload.
    await page.locator('.status').getByText('delivered', { exact: true }).first().waitFor();
    expect(await page.locator('[data-attempt].tone-planned').count()).toBe(0);

    await page.goto(subscription);
    await click('Delete');
    await click('Delete the subscription', dialog);
    await page.getByRole('heading', { level: 1, name: `Queue ${queue}` }).waitFor();
    await click('Delete queue');
    await click('Delete the queue', dialog);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect((await callApi('GET', `/v2/queues/${queue}`)).status).toBe(404);
    expect(faults).toEqual([]);
  });

  it('looks at dead letters, shows one, redrives one and deletes one', async () => {
    const queue = `console-dead-${randomUUID().slice(0, 8)}`;
    const operation = { kind: 'recovery', queue, recoveryId: randomUUID(), orderedAt: Date.now() } as const;
    await send(operationDeadLetterUrl, `${MARKUP} ${queue}`, { reason: 'not_json' });
    await send(operationDeadLetterUrl, encodeOperation(operation), { reason: 'not_json' });
    const { page, faults } = await openPage(browser, served.url);
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
  });
});

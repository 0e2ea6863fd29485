import { randomUUID } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { awsEnvironment, plainEnvironment } from '../../local/local-aws.ts';
import { callApi } from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { inBrowser, launchChromium } from '../browser/chromium.ts';
import { startConsoleCommand, type RunningConsole } from '../browser/console-command.ts';
import { goTo, openPage } from '../browser/console-page.ts';

const { apiUrl, endpoint } = deployment.endpoints;

let browser: Browser;
let served: RunningConsole;
let receiver: Receiver;

inBrowser('the forms of the console on the deployed system', () => {
  beforeAll(async () => {
    const env = {
      ...plainEnvironment(),
      ...awsEnvironment(endpoint, deployment.endpoints),
      POSTHASTE_API_URL: apiUrl,
    };
    [browser, served, receiver] = await Promise.all([
      launchChromium(),
      startConsoleCommand(env, ['--deployment', 'Posthaste']),
      startReceiver(),
    ]);
  });

  afterAll(async () => {
    await Promise.all([browser.close(), receiver.close()]);
    expect(await served.stop()).toBe(0);
  });

  it('create, change and delete a queue and a subscription, and find and send a filtered message', async () => {
    const queue = `forms-${randomUUID().slice(0, 8)}`;
    const { page, faults, close } = await openPage(browser, served.url);
    const dialog = page.getByRole('dialog');
    const click = (name: string) => page.getByRole('button', { name, exact: true }).click();
    const clickIn = (name: string) => dialog.getByRole('button', { name, exact: true }).click();
    const closed = () => dialog.waitFor({ state: 'detached' });

    await goTo(page, `#/queues/${queue}`);
    await click(`Create queue ${queue}`);
    await page.getByRole('heading', { level: 1, name: `Queue ${queue}` }).waitFor();
    await click('Edit queue');
    await dialog.getByLabel('Message data to keep').selectOption('all');
    await clickIn('Save');
    await closed();

    await click('Create subscription');
    await dialog.getByLabel('URL').fill(receiver.url(`/${queue}`));
    await dialog.getByLabel('Name', { exact: true }).fill('Dispatch');
    await dialog.getByLabel('Event types').fill('order.paid');
    await clickIn('Create');
    expect(await dialog.locator('code.secret').textContent()).toMatch(/^whsec_/);
    await clickIn('Done');
    await page.getByRole('heading', { name: 'Subscription Dispatch' }).waitFor();
    const subscription = page.url();
    await click('Edit');
    await dialog.getByLabel('Timeout of an attempt, seconds').fill('9');
    await clickIn('Save');
    await closed();

    const message = `m-${queue}`;
    await callApi('POST', `/v2/queues/${queue}/messages`, {
      messages: [{ id: message, type: 'order.created', body: { total: 1250 } }],
    });
    await eventually('the message on record', async () =>
      (await callApi('GET', `/v2/queues/${queue}/messages/${message}`)).ok ? true : undefined,
    );
    await page.keyboard.press('/');
    await page.keyboard.type(message);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: `${message} in ${queue}` }).click();
    await page.getByText('by its event types').waitFor();
    await page
      .getByRole('row', { name: /Dispatch/ })
      .getByRole('button', { name: 'Send' })
      .click();
    await clickIn('Send');
    await dialog.getByText('Sent', { exact: true }).waitFor();
    const [request] = await receiver.waitFor(`/${queue}`, 1);
    expect(request?.headers['webhook-id']).toBe(message);
    await clickIn('Done');

    await page.goto(subscription);
    await click('Delete');
    await clickIn('Delete the subscription');
    await page.getByRole('heading', { level: 1, name: `Queue ${queue}` }).waitFor();
    await click('Delete queue');
    await clickIn('Delete the queue');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect((await callApi('GET', `/v2/queues/${queue}`)).status).toBe(404);
    expect(faults).toEqual([]);
    await close();
  });
});

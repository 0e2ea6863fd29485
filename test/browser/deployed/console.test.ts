import { randomUUID } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callApi, finishedDelivery, subscribe } from '../../support/api-client.ts';
import { deployment } from '../../support/deployment.ts';
import { startReceiver, type Receiver } from '../../support/receiver.ts';
import { apiEnvironment } from '../../unit/cli/run-command.ts';
import { inBrowser, launchChromium } from '../chromium.ts';
import { startConsoleCommand, type RunningConsole } from '../console-command.ts';
import { axeViolations, openPage } from '../console-page.ts';

const MARKUP = '<img src=x onerror="document.title=1"><b>bold</b>';

let browser: Browser;
let served: RunningConsole;
let receiver: Receiver;

inBrowser('the console on the deployed system', () => {
  beforeAll(async () => {
    [browser, served, receiver] = await Promise.all([
      launchChromium(),
      startConsoleCommand(apiEnvironment(deployment.endpoints.apiUrl)),
      startReceiver(),
    ]);
  });

  afterAll(async () => {
    await Promise.all([browser.close(), receiver.close()]);
    expect(await served.stop()).toBe(0);
  });

  it('shows a rejected delivery as its subscriber answered, delivers it again by a click, and sees it arrive', async () => {
    const queue = `console-${randomUUID()}`;
    receiver.script(`/${queue}`, [{ status: 400, body: MARKUP }, { status: 200 }]);
    const subscription = await subscribe(queue, receiver.url(`/${queue}`));
    await callApi('POST', `/v2/queues/${queue}/messages`, {
      messages: [{ id: 'm', body: { text: MARKUP } }],
    });
    expect(await finishedDelivery(queue, 'm')).toMatchObject({ status: 'rejected' });

    const { page, faults, close } = await openPage(browser, served.url);
    await page.getByRole('link', { name: queue }).first().waitFor();
    await page.goto(`${new URL(served.url).origin}/#/queues/${queue}/messages/m/deliveries/${subscription}`);
    await page.getByText(MARKUP).first().waitFor();
    const delivered = page.locator('.status').getByText('delivered', { exact: true });
    expect(await delivered.count()).toBe(0);
    expect(await axeViolations(page)).toEqual([]);

    await page.getByRole('button', { name: 'Deliver again' }).click();
    const [first, second] = await receiver.waitFor(`/${queue}`, 2, 20_000);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    // Without reloading.
    await delivered.first().waitFor();
    expect(faults).toEqual([]);
    await close();
  });
});

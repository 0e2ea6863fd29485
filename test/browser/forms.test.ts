import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { busyConsole } from './running-console.ts';
import { inBrowser } from './chromium.ts';
import {
  axeViolations,
  axeViolationsInBothThemes,
  isTooWide,
  NO_VIOLATIONS,
  picture,
} from './console-page.ts';

const patchSchema = z.object({ options: z.looseObject({ auth: z.unknown().exactOptional() }) });

const click = (where: Page | Locator, name: string): Promise<void> =>
  where.getByRole('button', { name, exact: true }).click();

/** The error at a field. */
const faultAt = (field: Locator): Locator => field.locator('xpath=..').locator('.field-fault');

inBrowser('the forms of the console', () => {
  const there = busyConsole();

  const stored = async (queue: string, id: string) => {
    const found = await there().api.registry.findSubscription(queue, id);
    if (found === undefined) throw new Error(`no subscription ${id}`);
    return found;
  };

  it('create a queue with a policy, unless it exists', async () => {
    const page = await there().openAt('#/');
    await click(page, 'Create queue');
    const dialog = page.getByRole('dialog');
    const name = dialog.getByLabel('Name');
    await name.fill('or ders');
    await click(dialog, 'Create queue');
    await faultAt(name).getByText('1 to 64 of A-Z a-z 0-9 _ . -').waitFor();
    await click(dialog, 'Cancel');
    await dialog.waitFor({ state: 'detached' });
    await click(page, 'Create queue');
    await name.fill('orders');
    await click(dialog, 'Create queue');
    await faultAt(name).getByText('There is already a queue orders.').waitFor();
    await name.fill('returns');
    await dialog.getByLabel('Retry policy').selectOption('custom');
    await dialog.getByLabel('Minimum delay, seconds').fill('7');
    expect(await axeViolations(page)).toEqual([]);
    await click(dialog, 'Create queue');
    await page.getByRole('heading', { level: 1, name: 'Queue returns' }).waitFor();
    expect((await there().api.registry.findQueue('returns'))?.metadata).toEqual({
      _retry_policy: { minimum_delay: 7 },
    });
  });

  it('edit the metadata of a queue, and show errors of the API at their fields', async () => {
    const page = await there().openAt('#/queues/invoices');
    await click(page, 'Edit queue');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Message data to keep').selectOption('all');
    const validation = dialog.getByLabel('Check messages against the event types');
    expect(await validation.inputValue()).toBe('');
    await validation.selectOption('warn');
    await dialog.getByLabel('Hold while down').selectOption('true');
    const ttl = dialog.getByLabel('Default ttl of messages, seconds');
    await ttl.fill('0');
    await dialog.getByLabel('Other metadata').fill('{"team": "billing", "note": [1]}');
    await click(dialog, 'Save');
    await faultAt(ttl)
      .getByText(/must be an integer number of seconds/)
      .waitFor();
    await ttl.fill('3600');
    expect(await axeViolations(page)).toEqual([]);
    await click(dialog, 'Save');
    await dialog.waitFor({ state: 'detached' });
    expect((await there().api.registry.findQueue('invoices'))?.metadata).toEqual({
      team: 'billing',
      note: [1],
      _retain_messages: 'all',
      _event_validation: 'warn',
      _default_message_ttl: 3600,
      _hold_while_down: true,
    });
    await click(page, 'Edit queue');
    expect(await validation.inputValue()).toBe('warn');
    await validation.selectOption('');
    await click(dialog, 'Save');
    await dialog.waitFor({ state: 'detached' });
    expect((await there().api.registry.findQueue('invoices'))?.metadata).not.toHaveProperty(
      '_event_validation',
    );
  });

  it('delete a queue with subscriptions once its name is typed, and restore it', async () => {
    const page = await there().openAt('#/queues/stock.eu-1');
    await click(page, 'Delete queue');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('1 subscription', { exact: true }).waitFor();
    const name = dialog.getByLabel('Type stock.eu-1 to confirm');
    await name.fill('stock');
    await click(dialog, 'Delete the queue');
    await faultAt(name).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await name.fill('stock.eu-1');
    await click(dialog, 'Delete the queue');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(await there().api.registry.findQueue('stock.eu-1')).toBeUndefined();
    const deleted = page.getByRole('table', { name: 'Queues that can be restored' });
    await deleted.getByText('stock.eu-1').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await deleted.scrollIntoViewIfNeeded();
    await picture(page, 'console-restore-light');
    await click(deleted, 'Restore');
    await page.getByRole('heading', { level: 1, name: 'Queue stock.eu-1' }).waitFor();
    await page.getByRole('row', { name: /shelf/ }).waitFor();
  });

  it('create a subscription, whose secret the page shows once', async () => {
    const page = await there().openAt('#/queues/orders');
    await click(page, 'Create subscription');
    const dialog = page.getByRole('dialog');
    const url = dialog.getByLabel('URL');
    await url.fill('ftp://new.example.com/');
    await dialog.getByLabel('Name', { exact: true }).fill('Dispatch');
    await dialog.getByLabel('Event types').fill('order.created\norder.changed');
    await dialog.getByLabel('Maximum requests per second').fill('2.5');
    await click(dialog, 'Create');
    await faultAt(url).getByText('must be an http or https URL').waitFor();
    expect(await dialog.getByText('must be an http or https URL').count()).toBe(1);
    await dialog.getByText('Correct the marked fields first.').waitFor();
    await url.fill('https://new.example.com/hook');
    await click(dialog, 'Create');
    const secret = dialog.locator('code.secret');
    expect(await secret.textContent()).toMatch(/^whsec_/);
    expect(await axeViolations(page)).toEqual([]);
    await click(dialog, 'Done');
    await page.getByRole('link', { name: /^https:\/\/new\.example\.com\/hook/ }).waitFor();
    await page.getByRole('heading', { name: 'Subscription Dispatch' }).waitFor();
    expect(await page.content()).not.toContain('whsec_');
    const id = page.url().split('/').at(-1) ?? '';
    expect(await stored('orders', id)).toMatchObject({
      name: 'Dispatch',
      options: { event_types: ['order.created', 'order.changed'], max_per_second: 2.5 },
    });
  });

  it('offer the event types of the catalogue for a subscription, and mark others', async () => {
    const names = ['order.created', 'order.paid'];
    const now = Date.now();
    const { eventTypes } = there().api;
    for (const name of names) await eventTypes.put({ name, createdAt: now, changedAt: now });
    const page = await there().openAt('#/queues/orders');
    await click(page, 'Create subscription');
    const dialog = page.getByRole('dialog');
    const chosen = dialog.getByLabel('Event types');
    const offered = dialog.getByLabel('Add a type of the catalogue');
    await offered.selectOption('order.paid');
    expect(await chosen.inputValue()).toBe('order.paid');
    await offered.selectOption('order.created');
    expect(await chosen.inputValue()).toBe('order.paid\norder.created');
    await offered.waitFor({ state: 'detached' });
    expect(await dialog.getByText('The catalogue does not have').count()).toBe(0);
    await chosen.fill('order.created\norder.payed');
    await dialog.getByText('The catalogue does not have order.payed.').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await click(dialog, 'Cancel');
    for (const name of names) await eventTypes.delete(name);
  });

  it('edit a subscription and keep the credentials that they do not show', async () => {
    const page = await there().openAt(`#/queues/orders/subscriptions/${there().billing}`);
    await click(page, 'Edit');
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByLabel('Value of header 1').inputValue()).toBe('***');
    await dialog.getByLabel('Value of header 2').fill('ledger');
    await dialog.getByLabel('Timeout of an attempt, seconds').fill('9');
    await dialog.getByLabel('Adapt to throttling').selectOption('false');
    await click(dialog, 'Save');
    await dialog.waitFor({ state: 'detached' });
    expect((await stored('orders', there().billing)).options).toEqual({
      _retry_policy: { maximum_delay: 3600 },
      post_headers: { 'x-api-key': 'abc', 'x-team': 'ledger' },
      attempt_timeout: 9,
      adapt_to_throttling: false,
    });
  });

  it('set, change and remove credentials, of which the page keeps nothing secret', async () => {
    const page = await there().openAt(`#/queues/orders/subscriptions/${there().warehouse}`);
    const dialog = page.getByRole('dialog');
    const choice = dialog.getByLabel('Credentials of each request');
    const key = dialog.getByLabel('Private key');
    const name = dialog.getByLabel('User name');
    const password = dialog.getByLabel('Password');
    const saved = async (): Promise<unknown> => {
      const asked = page.waitForRequest((request) => request.method() === 'PATCH');
      await click(dialog, 'Save');
      return patchSchema.parse((await asked).postDataJSON()).options.auth;
    };
    const editAgain = async (): Promise<void> => {
      await dialog.waitFor({ state: 'detached' });
      await click(page, 'Edit');
    };
    await click(page, 'Edit');
    await choice.selectOption('mtls');
    await dialog.getByLabel('Certificate', { exact: true }).fill('not PEM');
    await key.fill('my-secret');
    expect(await saved()).toEqual({ type: 'mtls', certificate: 'not PEM', private_key: 'my-secret' });
    await faultAt(key).getByText('must be a private key in PEM').waitFor();
    expect(await axeViolationsInBothThemes(page, 'light')).toEqual(NO_VIOLATIONS);
    await choice.selectOption('basic');
    await name.fill('ada');
    await password.fill('my-secret');
    expect(await saved()).toEqual({ type: 'basic', username: 'ada', password: 'my-secret' });
    await dialog.waitFor({ state: 'detached' });
    const kept = `[document.documentElement.outerHTML, location.href, ...Object.values(sessionStorage)].join()`;
    expect(await page.evaluate(kept)).not.toContain('my-secret');

    await editAgain();
    await dialog
      .getByText('Kept while the other fields stay. To change any of them, type it again.')
      .waitFor();
    expect(await password.inputValue()).toBe('');
    await name.fill('eve');
    expect(await saved()).toEqual({ type: 'basic', username: 'eve', password: '***' });
    await password.fill('another-secret');
    expect(await saved()).toEqual({ type: 'basic', username: 'eve', password: 'another-secret' });

    await editAgain();
    await choice.selectOption('none');
    await click(dialog, 'Save');
    await dialog.getByLabel('Remove the credentials').check();
    expect(await saved()).toBeUndefined();
  });

  it('warn before a subscriber moves to another origin, and show the new secret', async () => {
    const page = await there().openAt(`#/queues/orders/subscriptions/${there().billing}`);
    await click(page, 'Edit');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('URL').fill('https://billing.example.net/webhooks');
    await dialog.getByText('The subscriber moves to another origin').waitFor();
    await faultAt(dialog.getByLabel('Name of header 1')).waitFor();
    expect(await axeViolationsInBothThemes(page, 'light')).toEqual(NO_VIOLATIONS);
    await dialog.getByLabel('Value of header 1').fill('def');
    await click(dialog, 'Save');
    expect(await dialog.locator('code.secret').textContent()).toMatch(/^whsec_/);
    await click(dialog, 'Done');
    expect((await stored('orders', there().billing)).options.post_headers).toMatchObject({
      'x-api-key': 'def',
    });
  });

  it('test a filter against a recent message and pasted data', async () => {
    const page = await there().openAt(`#/queues/orders/subscriptions/${there().analytics}`, {
      width: 375,
      theme: 'dark',
    });
    await click(page, 'Edit');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Test the filter').click();
    await click(dialog, 'Load recent messages');
    await dialog.getByLabel('Recent message').selectOption('order-4710');
    await dialog.getByText('Matches: this message is sent.').waitFor();
    await dialog.getByLabel('Data of the message').fill('{"total": 100}');
    await dialog.getByText('Filtered: total does not match.').waitFor();
    await dialog.getByLabel('Type of the message').fill('order.changed');
    await dialog.getByText('Filtered: the type is not among the event types.').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
    const width = (of: string): Promise<unknown> => page.evaluate(`document.querySelector('dialog').${of}`);
    expect(await width('scrollWidth')).toBe(await width('clientWidth'));
  });

  it('delete a subscription after a question, and restore it', async () => {
    const page = await there().openAt(`#/queues/orders/subscriptions/${there().analytics}`);
    await click(page, 'Delete');
    await page.getByRole('dialog').getByText('https://analytics.example.net/ingest/v3/orders').waitFor();
    await click(page, 'Delete the subscription');
    await page.getByRole('heading', { level: 1, name: 'Queue orders' }).waitFor();
    const found = await there().api.registry.findSubscription('orders', there().analytics);
    expect(found?.deletedAt ?? Infinity).toBeLessThan(Date.now());
    const deleted = page.getByRole('table', { name: /^Deleted subscriptions/ });
    await click(deleted, 'Restore');
    await deleted.waitFor({ state: 'detached' });
    const restored = await there().api.registry.findSubscription('orders', there().analytics);
    expect(restored).toMatchObject({ restored: { deletedAt: found?.deletedAt } });
  });
});

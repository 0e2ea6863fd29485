import { expect, it } from 'vitest';
import { busyConsole } from './running-console.ts';
import { record } from './busy-deployment.ts';
import { inBrowser } from './chromium.ts';
import { axeViolations, goTo, isTooWide, picture } from './console-page.ts';

const PHASE_FIELDS = [
  'Retries with no delay',
  'Minimum delay retries',
  'Backoff retries',
  'Maximum delay retries',
];

inBrowser('an operator in the console', () => {
  const there = busyConsole();
  const pauseOf = async (id: string) =>
    (await there().api.registry.findSubscription('orders', id))?.pauses?.at(-1);

  it('disables a subscription after a question, and enables it', async () => {
    const page = await there().openAt(`#/queues/orders/subscriptions/${there().warehouse}`);
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByText('gets no more requests: neither new messages nor retries').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('button', { name: 'Disable the subscription' }).click();
    await page.getByText(/A request can still go out in the next \d+ seconds\./).waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('disabled', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByText('enabled', { exact: true }).waitFor();
  });

  it('pauses a subscription until a time, sees what that means, and resumes it at a rate', async () => {
    const page = await there().openAt(`#/queues/orders/subscriptions/${there().warehouse}`);
    await page.getByRole('button', { name: 'Pause' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Messages still expire while they wait.').waitFor();
    await dialog.getByLabel('How long').selectOption('until a time');
    await dialog.getByLabel('Resume at').fill('2036-01-01T10:00');
    expect(await axeViolations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await dialog.getByText(/A request can still go out in the next \d+ seconds\./).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByText('until 1 Jan 2036, 10:00:00').waitFor();
    await page.getByText('0 deliveries', { exact: true }).waitFor();
    await picture(page, 'console-pause-light');
    expect(await axeViolations(page)).toEqual([]);
    expect(await pauseOf(there().warehouse)).toMatchObject({ until: Date.parse('2036-01-01T10:00+01:00') });
    await page.getByRole('button', { name: 'Resume' }).click();
    await dialog.getByLabel('Requests per second').fill('many');
    await dialog.getByText('This is not a number.').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await dialog.getByLabel('Requests per second').fill('20');
    await dialog.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('enabled', { exact: true }).waitFor();
    expect(await pauseOf(there().warehouse)).toMatchObject({ perSecond: 20 });
  });

  it('pauses a queue for an hour, sees it in the overview and at its subscriptions, and resumes it', async () => {
    const page = await there().openAt('#/queues/stock.eu-1');
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('0 deliveries', { exact: true }).waitFor();
    const row = page.getByRole('row', { name: /shelf/ });
    await row.getByText('paused').waitFor();
    await goTo(page, '#/');
    await page.getByRole('row', { name: /stock/ }).getByText('paused').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await goTo(page, '#/queues/stock.eu-1');
    await row.getByRole('link').click();
    await page.getByText(/^with its queue until/).waitFor();
    expect(await page.getByRole('button', { name: 'Resume' }).count()).toBe(0);
    await goTo(page, '#/queues/stock.eu-1');
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
    await row.getByText('enabled').waitFor();
  });

  it('rotates a secret, which the page shows once', async () => {
    const page = await there().openAt(`#/queues/orders/subscriptions/${there().warehouse}`);
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Rotate', exact: true }).click();
    const secret = page.locator('code.secret');
    await secret.waitFor();
    expect(await secret.textContent()).toMatch(/^whsec_/);
    await page.getByRole('button', { name: 'Done' }).click();
    await secret.waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain('whsec_');
  });

  it('shows the public key if the new secret is a key pair', async () => {
    const { page } = await there().open();
    await page.route('**/secret/rotate', (route) => route.fulfill({ json: { publicKey: 'whpk_abc' } }));
    await goTo(page, `#/queues/orders/subscriptions/${there().warehouse}`);
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByRole('button', { name: 'Rotate', exact: true }).click();
    await page.getByText('This is the new public key.', { exact: true }).waitFor();
    await page.getByText('whpk_abc').waitFor();
  });

  it('cancels a delivery and sees the result without reloading the page', async () => {
    const page = await there().openAt(`#/queues/orders/messages/order-4703/deliveries/${there().billing}`);
    await page.getByRole('button', { name: 'Cancel delivery' }).click();
    await page.locator('.facts').getByText('cancelled').waitFor();
    await page.getByRole('button', { name: 'Deliver again' }).waitFor();
  });

  it('cancels a delivery once by a double click, which does not start the button that takes its place', async () => {
    const address = `orders/messages/order-4706/deliveries/${there().billing}`;
    const page = await there().openAt(`#/queues/${address}`);
    const changes: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') changes.push(new URL(request.url()).pathname);
    });
    const place = await page.getByRole('button', { name: 'Cancel delivery' }).boundingBox();
    const [x, y] = [(place?.x ?? 0) + 20, (place?.y ?? 0) + 10];
    await page.mouse.click(x, y);
    await page.getByRole('button', { name: 'Deliver again' }).waitFor();
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    expect(changes).toEqual([`/api/v2/queues/${address}/cancel`]);
  });

  it('sees why a subscription did not get a message, and sends it after a question', async () => {
    const message = {
      queue: 'orders',
      messageId: 'order-5000',
      type: 'order.changed',
      data: '{"total":120}',
    };
    await record(there().api, { ...message, acceptedAt: Date.now(), filtered: 1, deliveries: [] });
    const page = await there().openAt('#/queues/orders/messages/order-5000');
    const row = page.getByRole('row', { name: /analytics/ });
    await row.getByText('by its event types').waitFor();
    await row.getByRole('button', { name: 'Send' }).click();
    expect(await axeViolations(page)).toEqual([]);
    const sent = () => there().api.wakeUps.filter(({ key }) => key.messageId === 'order-5000');
    expect(sent()).toEqual([]);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Sent', { exact: true }).waitFor();
    expect(sent()).toMatchObject([{ key: { subscriptionId: there().analytics } }]);
  });

  it('sees which setting keeps the messages that can be sent again', async () => {
    const page = await there().openAt('#/queues/orders/messages/order-4701');
    await page.getByRole('button', { name: /^Send again to .*warehouse/ }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText(/set `_retain_messages` of the queue/).waitFor();
  });

  it.each([
    { status: 'rejected', message: 'order-4704', receiver: /analytics/ },
    { status: 'exhausted', message: 'order-4699', receiver: /billing/ },
  ])('can send a message again whose delivery was $status', async ({ status, message, receiver }) => {
    const page = await there().openAt(`#/queues/orders/messages/${message}`);
    const row = page.getByRole('row', { name: receiver });
    await row.getByText(status, { exact: true }).waitFor();
    await row.getByRole('button', { name: /^Send again to / }).click();
    await page.getByRole('heading', { name: 'Send to this subscription' }).waitFor();
  });

  it('finds a subscription, a message and a time with the keyboard alone', async () => {
    const { page } = await there().open();
    await page.getByRole('link', { name: 'orders' }).waitFor();
    const find = async (text: string): Promise<void> => {
      await page.keyboard.type(text);
      await page.keyboard.press('Enter');
      await page.getByText(/ in 3 queues\.$/).waitFor();
    };
    await page.keyboard.press('/');
    await find('warehouse.example');
    expect(await axeViolations(page)).toEqual([]);
    for (const width of [1280, 700, 360]) {
      await page.setViewportSize({ width, height: 800 });
      const results = await page.locator('.search-results').boundingBox();
      expect(results?.x, `${width} px`).toBeGreaterThanOrEqual(0);
      // The charts adapt after the page.
      await expect.poll(() => isTooWide(page), { message: `${width} px` }).toBe(false);
    }
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page
      .getByRole('heading', { name: 'Subscription https://warehouse.example.com/hooks/orders' })
      .waitFor();
    await page.getByText(there().warehouse, { exact: true }).waitFor();
    await page.keyboard.press('/');
    await find('order-4700');
    await page.getByRole('link', { name: 'order-4700 in orders' }).waitFor();
    await page.keyboard.press('Control+A');
    await find('14:03');
    await page.getByRole('link', { name: /^orders .*14:08:00$/ }).waitFor();
    await page.keyboard.press('Escape');
    expect(await page.getByText('Messages around this time').count()).toBe(0);
    await page.keyboard.press('Control+A');
    await find('order-1');
    await page.getByText(/was never accepted/).waitFor();
    // The counts arrive after the search.
    await page.getByText(/the ingress queue, where 0 wait now/).waitFor();
  });

  it('applies a policy to a subscription and keeps its other options', async () => {
    const page = await there().openAt(`#/designer?queue=orders&subscription=${there().billing}`);
    const maximum = page.getByLabel('Maximum delay, seconds');
    await expect.poll(() => maximum.inputValue()).toBe('3600');
    await maximum.fill('1800');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('Policy applied').waitFor();
    const { options } = (await there().api.registry.findSubscription('orders', there().billing)) ?? {};
    expect(options).toMatchObject({
      _retry_policy: { maximum_delay: 1800 },
      post_headers: { 'x-api-key': 'abc', 'x-team': 'billing' },
    });
  });

  it('cannot replace a stored policy that is not loaded, and loads it again', async () => {
    const page = await there().openAt('#/');
    const stored = new RegExp(`/subscriptions/${there().billing}$`);
    await page.route(stored, (route) => route.fulfill({ status: 500, json: { message: 'no' } }));
    await goTo(page, `#/designer?queue=orders&subscription=${there().billing}`);
    await page.getByText('The stored policy is not loaded').waitFor();
    expect(await page.getByRole('button', { name: 'Apply' }).count()).toBe(0);
    await page.unroute(stored);
    await page.getByRole('button', { name: 'Load the stored policy again' }).click();
    await page.getByRole('button', { name: 'Apply' }).waitFor();
    expect(await page.getByLabel('Maximum delay, seconds').inputValue()).not.toBe('');
  });

  it('keeps what is typed in the policy designer before the stored policy is loaded', async () => {
    const page = await there().openAt('#/');
    const { promise: isTyped, resolve: load } = Promise.withResolvers<undefined>();
    const stored = new RegExp(`/subscriptions/${there().billing}$`);
    await page.route(stored, async (route) => {
      await isTyped;
      await route.continue();
    });
    const answer = page.waitForResponse(stored);
    await goTo(page, `#/designer?queue=orders&subscription=${there().billing}`);
    const maximum = page.getByLabel('Maximum delay, seconds');
    await maximum.fill('1234');
    load(undefined);
    await (await answer).finished();
    await page.evaluate('new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)))');
    expect(await maximum.inputValue()).toBe('1234');
  });

  it('applies a policy to a queue and keeps its other metadata', async () => {
    const page = await there().openAt('#/designer?queue=invoices');
    for (const field of PHASE_FIELDS) await page.getByLabel(field, { exact: true }).fill('0');
    await page.getByText('1 request').waitFor();
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('Policy applied').waitFor();
    expect((await there().api.registry.findQueue('invoices'))?.metadata).toMatchObject({
      team: 'billing',
      _retry_policy: { retries_with_no_delay: 0, backoff_retries: 0 },
    });
  });

  it('counts failed deliveries, anew after a change of the filter, starts a recovery and stops it', async () => {
    await record(there().api, {
      queue: 'invoices',
      messageId: 'invoice-8',
      acceptedAt: Date.now() - 60_000,
      deliveries: [{ subscriptionId: 'ledger', status: 'cancelled', reason: 'manual' }],
    });
    const page = await there().openAt('#/queues/invoices/recovery');
    await page.getByText('Manually cancelled deliveries are left alone.').waitFor();
    await page.getByRole('button', { name: 'Count matching deliveries' }).click();
    await page.getByText('1 cancelled').waitFor();
    const recover = page.getByRole('button', { name: 'Recover 1 delivery' });
    await recover.waitFor();
    await page.getByLabel('Status').selectOption('cancelled');
    await recover.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Count matching deliveries' }).click();
    await page.getByRole('button', { name: 'Recover 2 deliveries' }).click();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('stopped', { exact: true }).waitFor();
  });

  it('recovers what one subscriber has missed since it fails', async () => {
    const page = await there().openAt(`#/queues/orders/subscriptions/${there().billing}`);
    const { failing } = (await there().api.registry.findSubscription('orders', there().billing)) ?? {};
    const since = new Date((failing?.since ?? 0) - 60_000).toISOString();
    // The link takes its window from the subscription, which loads after the page.
    await page.locator(`a[href$="since=${encodeURIComponent(since)}"]`).click();
    await expect.poll(() => page.getByLabel('Subscription').inputValue()).toBe(there().billing);
    const shown = await page.getByLabel('Accepted since').inputValue();
    expect(Date.parse(`${shown}+01:00`)).toBe(Math.floor(Date.parse(since) / 60_000) * 60_000);
  });

  it('sees the request of a delivery as curl, without secrets and signature', async () => {
    const page = await there().openAt(`#/queues/orders/messages/order-4704/deliveries/${there().billing}`);
    const command = page.getByRole('region', { name: 'the curl command' });
    await command.getByText("--url 'https://billing.example.com/webhooks'").waitFor();
    const text = await command.textContent();
    expect(text).toContain("--header 'x-api-key: ***'");
    expect(text).toContain('"total":12345678901234567890');
    expect(text).not.toMatch(/signature|abc/);
    await page.getByText('Hidden values to replace: x-api-key.').waitFor();
  });

  it('sees the schedule change with the policy, and errors at their fields', async () => {
    const page = await there().openAt('#/designer');
    await page.getByRole('button', { name: /^Example/ }).click();
    expect(await page.locator('[data-sum="requests"]').textContent()).toBe('11');
    // 10 × (5 + 260) / 2 seconds.
    expect(await page.locator('[data-sum="time"]').textContent()).toBe('22 min 5 s');
    await page.getByLabel('Minimum delay, seconds').fill('300');
    const wrong = page.getByLabel('Maximum delay, seconds');
    expect(await wrong.getAttribute('aria-invalid')).toBe('true');
    await page.getByText(/must not be below minimum_delay/).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await wrong.fill('300');
    await page.getByText('"maximum_delay": 300').waitFor();
    const preset = page.getByLabel('Preset');
    expect(await preset.inputValue()).toBe('');
    await preset.selectOption('patient');
    expect(await page.locator('[data-sum="requests"]').textContent()).toBe('37');
    expect(await preset.inputValue()).toBe('patient');
  });

  it('finds the window of a page again on the way back, and asks for no year that is half typed', async () => {
    const page = await there().openAt('#/queues/orders/books');
    await page.getByRole('button', { name: '7 days' }).click();
    const since = page.getByLabel('Accepted since');
    const chosen = await since.inputValue();
    await page.getByRole('cell', { name: 'exhausted' }).getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: 'Deliveries of orders' }).waitFor();
    expect(await since.inputValue()).toBe(chosen);
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Reconciliation of orders' }).waitFor();
    expect(await since.inputValue()).toBe(chosen);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(decodeURIComponent(new URL(request.url()).search)));
    const answered = page.waitForResponse(/since=2025/);
    await since.fill('0002-11-20T10:00');
    await since.fill('2025-11-20T10:00');
    await answered;
    expect(asked.filter((search) => search.includes('since=0'))).toEqual([]);
  });

  it('names the default window as empty only while it is shown, and shows it again by the tab of the page', async () => {
    await there().api.registry.putQueue({ name: 'empty', metadata: {}, createdAt: Date.now() });
    const page = await there().openAt('#/queues/empty/messages');
    const isDefault = page.getByText('No messages in the last 24 hours');
    await isDefault.waitFor();
    await page.getByRole('button', { name: '1 hour' }).click();
    await page.getByText('No matching messages in this window').waitFor();
    await page.getByRole('link', { name: 'Messages', exact: true }).click();
    await isDefault.waitFor();
  });

  it('publishes the same message again after an answer that was lost', async () => {
    const page = await there().openAt('#/queues/stock.eu-1');
    const bodies: (string | null)[] = [];
    await page.route('**/stock.eu-1/messages', async (route) => {
      bodies.push(route.request().postData());
      if (bodies.length > 1) await route.continue();
      else await route.fulfill({ status: 504, json: { error: { code: 'timeout', message: 'no answer' } } });
    });
    const publish = page.getByRole('button', { name: 'Publish' });
    await publish.click();
    await page.getByText(/An action is not repeated/).waitFor();
    await publish.click();
    await page.getByText('Published', { exact: true }).waitFor();
    await publish.click();
    await expect.poll(() => bodies.length).toBe(3);
    expect(bodies[1]).toBe(bodies[0]);
    expect(bodies[2]).not.toBe(bodies[1]);
  });

  it('keeps the rows of a list while more of them load', async () => {
    const page = await there().openAt('#/queues/orders/messages');
    const more = page.getByRole('button', { name: 'Show more messages' });
    await more.waitFor();
    const { promise: isSeen, resolve: load } = Promise.withResolvers<undefined>();
    await page.route('**/messages?**', async (route) => {
      await isSeen;
      await route.continue();
    });
    const rows = await page.getByRole('row').count();
    const asked = page.waitForRequest('**/messages?**');
    await more.click();
    await asked;
    expect(await page.getByRole('row').count()).toBe(rows);
    load(undefined);
    await expect.poll(() => page.getByRole('row').count()).toBeGreaterThan(rows);
  });

  it('sees on every page of a queue that it does not exist, and what may be meant', async () => {
    const { page } = await there().open();
    for (const below of ['', '/messages', '/deliveries', '/books', '/recovery']) {
      await goTo(page, `#/queues/order${below}`);
      await page.getByText('There is no queue order.').waitFor();
      await page.getByRole('link', { name: 'orders', exact: true }).waitFor();
      expect(await page.locator('main form').count(), below).toBe(0);
    }
    expect(await axeViolations(page)).toEqual([]);
  });

  it('creates a queue that does not exist from its page', async () => {
    const page = await there().openAt('#/queues/nowhere');
    await page.getByRole('button', { name: 'Create queue nowhere' }).click();
    await page.getByText('No subscriptions yet').waitFor();
    await page.getByRole('button', { name: 'Publish' }).waitFor();
  });
});

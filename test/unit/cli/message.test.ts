import { afterAll, describe, expect, it } from 'vitest';
import { closeStubs, stubApi } from './stub-api.ts';

afterAll(closeStubs);

describe('posthaste message', () => {
  const body = '{ "big": 12345678901234567890.10, "u": "\u0085" }';
  const text =
    '{"queue":"orders","id":"m1","acceptedAt":"2026-01-01T00:00:00.000Z","duplicates":1,"matched":2,"filtered":0,' +
    '"deliveries":{"pending":0,"retrying":1,"delivered":1,"rejected":0,"exhausted":0,"cancelled":0},"bodyKept":true,' +
    `"body":${body}}`;
  const routes = { 'GET /v2/queues/orders/messages/m1': () => ({ body: text }) };

  it('shows the deliveries of a message by status', async () => {
    const { stdout } = await (await stubApi(routes)).run(['message', 'show', 'orders', 'm1']);
    expect(stdout).toContain('Deliveries  1 retrying, 1 delivered\n');
    expect(stdout).toContain('"big": 12345678901234567890.10, "u": "\\u0085"');
  });

  it('says that a message has more deliveries than were counted', async () => {
    const body = text.replace('"bodyKept"', '"deliveriesAtLeast":true,"bodyKept"');
    const api = await stubApi({ 'GET /v2/queues/orders/messages/m1': () => ({ body }) });
    const { stdout } = await api.run(['message', 'show', 'orders', 'm1']);
    expect(stdout).toContain('Deliveries  at least 1 retrying, 1 delivered\n');
  });

  it('prints the data byte for byte, and the message as JSON without losing digits', async () => {
    const api = await stubApi(routes);
    expect((await api.run(['message', 'show', 'orders', 'm1', '--body'])).stdout).toBe(body);
    const shown = (await api.run(['message', 'show', 'orders', 'm1', '--json'])).stdout;
    expect(shown).toBe(`${text.replace('\u0085', '\\u0085')}\n`);
  });

  it('erases the data of a message', async () => {
    const api = await stubApi({
      'DELETE /v2/queues/orders/messages/m1/body': () => ({ status: 204, body: '' }),
    });
    const { stdout } = await api.run(['message', 'erase', 'orders', 'm1', '--json']);
    expect(stdout).toBe('{"queue":"orders","messageId":"m1"}\n');
  });
});

import { afterAll, describe, expect, it } from 'vitest';
import { AT, delivered, detail, listed, page, OF_QUEUE, OF_MESSAGE, ONE } from './delivery-views.ts';
import { jsonLines } from './run-command.ts';
import { closeStubs, json, refusal, stubApi } from './stub-api.ts';

afterAll(closeStubs);

describe('posthaste deliveries watch', () => {
  it('prints each change once, including the delivery leaving the list as delivered, and exits with 0 on Ctrl-C', async () => {
    let interrupt = (): void => undefined;
    let looks = 0;
    const api = await stubApi({
      [OF_QUEUE]: () => {
        looks += 1;
        if (looks === 4) interrupt();
        return looks < 3 ? page(listed) : page();
      },
      [`GET ${ONE}`]: () => detail(delivered),
    });
    const { status, stdout, stderr } = await api.run(['deliveries', 'watch', 'orders', '--json'], {
      onStart: (command) => {
        ({ interrupt } = command);
      },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(jsonLines(stdout)).toMatchObject([
      { messageId: 'm1', status: 'retrying', attemptCount: 1, last: '503', nextAttemptAt: AT },
      { messageId: 'm1', status: 'delivered', attemptCount: 2, last: '200' },
    ]);
  });

  it('follows a message that has no record yet, until the deliveries of all matches have ended', async () => {
    let looks = 0;
    const answers = [refusal(404, 'not_found', 'no such message'), page(), page(delivered), page(delivered)];
    const message = {
      queue: 'orders',
      id: 'm1',
      acceptedAt: AT,
      duplicates: 0,
      filtered: 0,
      bodyKept: false,
    };
    const deliveries = { pending: 0, retrying: 0, delivered: 1, rejected: 0, exhausted: 0, cancelled: 0 };
    const api = await stubApi({
      [OF_MESSAGE]: () => answers[looks++] ?? page(),
      'GET /v2/queues/orders/messages/m1': () => json({ ...message, deliveries, matched: looks < 4 ? 2 : 1 }),
    });
    const { status, stdout } = await api.run(['deliveries', 'watch', 'orders', '--message', 'm1']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^\S+ \S+ {2}m1 {2}5b0c0f1e {2}delivered {2}#2, 200\n$/);
    expect(looks).toBe(4);
  });

  it('exits with status 0 after --for', async () => {
    const api = await stubApi({ [OF_QUEUE]: () => page() });
    expect(await api.run(['deliveries', 'watch', 'orders', '--for', '0.5'])).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    });
  });
});

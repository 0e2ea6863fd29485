import { afterAll, describe, expect, it } from 'vitest';
import { ID, attempt, retrying, delivered, detail, ONE } from './delivery-views.ts';
import { jsonLines } from './run-command.ts';
import { closeStubs, json, refusal, stubApi } from './stub-api.ts';

afterAll(closeStubs);

describe('posthaste retry and cancel', () => {
  it.each(['retry', 'cancel'])('can %s a delivery', async (what) => {
    const api = await stubApi({ [`POST ${ONE}/${what}`]: () => json(retrying, 202) });
    const { status, stdout } = await api.run([what, 'orders', 'm1', ID, '--json']);
    expect({ status, lines: jsonLines(stdout) }).toEqual({ status: 0, lines: [retrying] });
  });

  describe('retried with --wait', () => {
    const waiting = (...ends: object[]) =>
      stubApi({
        [`POST ${ONE}/retry`]: () => json(retrying, 202),
        [`GET ${ONE}`]: (_, index) => detail(ends[index] ?? ends.at(-1) ?? {}),
      });
    const args = ['retry', 'orders', 'm1', ID, '--wait'];

    it.each([
      [delivered, 0],
      [{ ...delivered, status: 'rejected', reason: 'http_400' }, 1],
    ])(
      'is shown at its end, with an exit status that says whether it was delivered: %#',
      async (end, status) => {
        const { run } = await waiting(retrying, end);
        const ended = await run([...args, '--json']);
        expect(ended.status).toBe(status);
        expect(JSON.parse(ended.stdout)).toMatchObject({ status: end.status });
      },
    );

    it('is polled with pauses that grow while nothing changes and fall after a change, as --verbose shows', async () => {
      const second = { ...retrying, attempts: [attempt, { ...attempt, number: 2 }] };
      const { run } = await waiting(retrying, retrying, second, delivered);
      const { stderr } = await run([...args, '--verbose']);
      expect(stderr.split('\n').slice(1, -1)).toEqual([
        'empty: slept 0.5 s, next 1 s',
        'empty: slept 1 s, next 2 s',
        'changed: interval 0.5 s',
      ]);
    });

    it('continues after Ctrl-C, which says where to look', async () => {
      let interrupt = (): void => undefined;
      const api = await stubApi({
        [`POST ${ONE}/retry`]: () => json(retrying, 202),
        [`GET ${ONE}`]: () => {
          interrupt();
          return detail(retrying);
        },
      });
      const run = await api.run(args, {
        onStart: (command) => {
          ({ interrupt } = command);
        },
      });
      expect(run.status).toBe(130);
      expect(run.stderr).toContain(
        `The delivery continues. To see it: npm run -s posthaste -- deliveries show orders m1 ${ID}\n`,
      );
    });
  });

  it('shows why a retry was refused, and sends the request only once', async () => {
    const api = await stubApi({ [`POST ${ONE}/retry`]: () => refusal(409, 'conflict', 'the body is gone') });
    expect(await api.run(['retry', 'orders', 'm1', ID])).toEqual({
      status: 1,
      stdout: '',
      stderr: `→ ${api.url}\nposthaste: POST ${ONE}/retry was refused (409 conflict): the body is gone\n`,
    });
    const failing = await stubApi({ [`POST ${ONE}/retry`]: () => json({ message: 'busy' }, 503) });
    expect((await failing.run(['retry', 'orders', 'm1', ID])).status).toBe(1);
    expect(failing.requests).toHaveLength(1);
  });

  it('repeats a retry that API Gateway throttled, because the API has not processed it', async () => {
    const api = await stubApi({
      [`POST ${ONE}/retry`]: (_, index) =>
        index < 2
          ? json({ message: 'Too Many Requests' }, 429)
          : refusal(409, 'conflict', 'the body is gone'),
    });
    expect((await api.run(['retry', 'orders', 'm1', ID])).stderr).toContain('the body is gone');
    expect(api.requests).toHaveLength(3);
    const busy = await stubApi({ [`POST ${ONE}/retry`]: () => json({ message: 'Too Many Requests' }, 429) });
    expect((await busy.run(['retry', 'orders', 'm1', ID])).stderr).toContain('429');
    expect(busy.requests).toHaveLength(4);
  });
});

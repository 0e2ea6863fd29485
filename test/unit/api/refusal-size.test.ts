import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { apiUnderTest } from './api-under-test.ts';

/** Lambda quotas, "Invocation payload (synchronous)". */
const LAMBDA_BYTES = 6_291_556;

const HOOK = 'https://hooks.example';
const QUEUE = '/v2/queues/orders';
const SUBSCRIPTIONS = `${QUEUE}/subscriptions`;
const IMPORT = `${QUEUE}/import`;

const errorSchema = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    fields: z.array(z.object({ field: z.string(), message: z.string() })).default([]),
  }),
});

const refusal = async (route: string, body: unknown) => {
  const { call } = apiUnderTest();
  const [method = '', path = ''] = route.split(' ');
  const { status, body: answer } = await call(method, path, body);
  const { error } = errorSchema.parse(answer);
  return { status, bytes: Buffer.byteLength(JSON.stringify(answer)), ...error };
};

const unknownKeys = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 0]));
const longName = 'ü'.repeat(500_000);

describe('the text of a refusal', () => {
  it('repeats no character of the caller that breaks a line, controls a terminal or hides text', async () => {
    const name = 'a\u2028b\u202ec\u0007d\u{e0041}\ud800';
    const { status, fields, message } = await refusal(`POST ${SUBSCRIPTIONS}`, {
      subscriber: `${HOOK}/`,
      [name]: 1,
    });
    expect(status).toBe(400);
    expect(fields).toEqual([
      { field: 'a\ufffdb\ufffdc\ufffdd\ufffd\ufffd', message: 'is not a known field' },
    ]);
    expect(message).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
  });
});

describe('the size of a refusal', () => {
  const withOptions = (options: unknown) => ({ subscriber: `${HOOK}/`, options });
  const withFilter = (name: string) => withOptions({ filter: { [name]: Array(20).fill([]) } });
  const withPolicy = (policy: unknown) => withOptions({ _retry_policy: policy });

  it('is limited to twenty fields; the others are counted', async () => {
    const { status, fields, message, bytes } = await refusal(`POST ${SUBSCRIPTIONS}`, {
      subscriber: `${HOOK}/`,
      ...unknownKeys(10_000),
    });
    expect(status).toBe(400);
    expect(fields).toHaveLength(20);
    expect(message).toMatch(/; and 9980 more$/);
    expect(bytes).toBeLessThan(3000);
  });

  it('has no count if all fields are named', async () => {
    const exactly = await refusal(`POST ${SUBSCRIPTIONS}`, { subscriber: `${HOOK}/`, ...unknownKeys(20) });
    expect(exactly.fields).toHaveLength(20);
    expect(exactly.message).not.toContain('more');
    const policy = await refusal(`POST ${SUBSCRIPTIONS}`, withPolicy(unknownKeys(21)));
    expect(policy).toMatchObject({ code: 'invalid_retry_policy' });
    expect(policy.fields).toHaveLength(20);
    expect(policy.message).toMatch(/; and 1 more$/);
  });

  it('is limited to 256 characters of a name', async () => {
    const { fields, bytes } = await refusal(`POST ${SUBSCRIPTIONS}`, {
      subscriber: `${HOOK}/`,
      [longName]: 0,
    });
    expect(fields).toEqual([{ field: `${'ü'.repeat(255)}…`, message: 'is not a known field' }]);
    expect(bytes).toBeLessThan(2000);
    const whole = await refusal(`POST ${SUBSCRIPTIONS}`, { subscriber: `${HOOK}/`, ['x'.repeat(256)]: 0 });
    expect(whole.fields[0]?.field).toBe('x'.repeat(256));
  });

  it('is limited without splitting a character', async () => {
    const { fields } = await refusal(`POST ${SUBSCRIPTIONS}`, {
      subscriber: `${HOOK}/`,
      [`x${'😀'.repeat(200)}`]: 0,
    });
    expect(fields[0]?.field).toBe(`x${'😀'.repeat(127)}…`);
    const odd = await refusal(`POST ${SUBSCRIPTIONS}`, { subscriber: `${HOOK}/`, ['😀'.repeat(200)]: 0 });
    expect(odd.fields[0]?.field).toBe(`${'😀'.repeat(127)}…`);
  });

  it.each<[string, string, unknown, number]>([
    ['options of 10,000 keys', `POST ${SUBSCRIPTIONS}`, withOptions(unknownKeys(10_000)), 413],
    ['an option with a long name', `POST ${SUBSCRIPTIONS}`, withOptions({ [longName]: 0 }), 413],
    ['10,000 headers', `POST ${SUBSCRIPTIONS}`, withOptions({ post_headers: unknownKeys(10_000) }), 413],
    ['a retry policy of 10,000 keys', `POST ${SUBSCRIPTIONS}`, withPolicy(unknownKeys(10_000)), 413],
    ['a filter with a long name', `POST ${SUBSCRIPTIONS}`, withFilter(longName), 413],
    [
      'a filter that is too long in options that are not',
      `POST ${SUBSCRIPTIONS}`,
      withFilter('x'.repeat(60_000)),
      400,
    ],
    ['metadata with a long name', `PUT ${QUEUE}`, `{"${longName}": 1e999}`, 400],
    ['a policy in metadata', `PUT ${QUEUE}`, { _retry_policy: unknownKeys(5000) }, 400],
    ['a patch with a long path', `PATCH ${QUEUE}`, [{ op: 'add', path: longName }], 400],
    ['a message of 10,000 keys', `POST ${QUEUE}/messages`, { messages: [unknownKeys(10_000)] }, 400],
    ['20,000 invalid messages', `POST ${QUEUE}/messages`, { messages: Array(20_000).fill(0) }, 400],
    ['a recovery of 10,000 keys', `POST ${QUEUE}/recoveries`, unknownKeys(10_000), 400],
  ])('is limited for %s', async (_what, route, body, status) => {
    const answer = await refusal(route, body);
    expect(answer.status).toBe(status);
    expect(answer.fields.length).toBeLessThanOrEqual(20);
    expect(answer.bytes).toBeLessThan(22_000);
  });

  it('is small for too large options, whose content is not checked', async () => {
    const { code, fields } = await refusal(`POST ${SUBSCRIPTIONS}`, {
      subscriber: 7,
      options: unknownKeys(10_000),
    });
    expect({ code, fields }).toEqual({ code: 'too_large', fields: [] });
    const changed = await refusal(`PATCH ${SUBSCRIPTIONS}/id-1`, { options: unknownKeys(10_000) });
    expect(changed.code).toBe('too_large');
  });

  it('is limited for an import, which names at least the error code of each line', async () => {
    const api = apiUnderTest();
    const faults = Array.from({ length: 20 }, () => [{ numeric: 0 }]);
    const line = JSON.stringify({
      subscriber: `${HOOK}/`,
      options: { filter: { ['\u0001'.repeat(200)]: faults.flat() } },
    });
    const { status, body } = await api.call(
      'POST',
      IMPORT,
      Array.from({ length: 500 }, () => line).join('\n'),
    );
    expect(status).toBe(200);
    expect(Buffer.byteLength(JSON.stringify({ body: JSON.stringify(body) }))).toBeLessThan(LAMBDA_BYTES);
    const { failed } = z.object({ failed: z.array(errorSchema.extend({ line: z.int() })) }).parse(body);
    expect(failed).toHaveLength(500);
    expect(new Set(failed.map(({ error }) => error.code))).toEqual(new Set(['invalid_request']));
    expect(failed[0]?.error.fields).toHaveLength(20);
    expect(failed.at(-1)?.error.fields).toEqual([]);
    expect(failed.at(-1)?.error.message).toContain('import this line alone');
  });
});

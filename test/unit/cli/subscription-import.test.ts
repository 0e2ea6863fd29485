import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { jsonLines } from './run-command.ts';
import { json, refusal, stubApi } from './stub-api.ts';

const PATH = 'POST /v2/queues/orders/import';
const IMPORT = ['subscription', 'import', 'orders'];

const error = { code: 'conflict', message: 'is there already' };

const inputOf = (count: number): string =>
  Array.from({ length: count }, (_, n) => `{"subscriber":"https://example.com/${n}"}`).join('\n');

/** Each request imports its first line; its second is refused, and its third is unchanged. */
const answered = (index: number) =>
  json({
    imported: 1,
    replaced: 0,
    unchanged: 1,
    subscriptions: [
      { line: 1, result: 'imported', subscription_id: `new-${index}`, secret: `whsec_${index}` },
      { line: 3, result: 'unchanged', subscription_id: `there-${index}` },
    ],
    failed: [{ line: 2, error }],
  });

const LINES = [
  { line: 1, result: 'imported', subscription_id: 'new-0', secret: 'whsec_0' },
  { line: 2, error },
  { line: 3, result: 'unchanged', subscription_id: 'there-0' },
  { line: 501, result: 'imported', subscription_id: 'new-1', secret: 'whsec_1' },
  { line: 502, error },
  { line: 503, result: 'unchanged', subscription_id: 'there-1' },
];

describe('posthaste subscription import', () => {
  let output: string;
  beforeEach(() => (output = join(temporaryFolder(), 'results.jsonl')));

  it('imports any number of lines, 500 per request, and prints the result of each with its line number', async () => {
    const api = await stubApi({ [PATH]: (_, index) => answered(index) });
    const { status, stdout } = await api.run([...IMPORT, '--json'], { input: inputOf(700) });
    expect(status).toBe(1);
    expect(jsonLines(stdout)).toEqual(LINES);
    expect(api.requests.slice(1).map(({ body }) => body.split('\n').length)).toEqual([500, 200]);
  });

  it('prints the secrets, the refused lines and the counts as text', async () => {
    const api = await stubApi({ [PATH]: (_, index) => answered(index) });
    const { status, stdout, stderr } = await api.run(IMPORT, { input: inputOf(700) });
    expect(status).toBe(1);
    expect(stdout).toBe(
      'Line 1: subscription new-0, secret whsec_0\n' +
        'Line 501: subscription new-1, secret whsec_1\n' +
        'Queue orders: 2 imported, 0 replaced, 2 unchanged, 2 refused.\n',
    );
    expect(stderr).toBe(
      `→ ${api.url}\nLine 2 was refused: is there already\nLine 502 was refused: is there already\n`,
    );
  });

  it('writes the results to a file that only its owner can read, and then prints no secret', async () => {
    const api = await stubApi({ [PATH]: (_, index) => answered(index) });
    const { stdout, stderr } = await api.run([...IMPORT, '--output', output], { input: inputOf(700) });
    expect(jsonLines(readFileSync(output, 'utf8'))).toEqual(LINES);
    expect(statSync(output).mode & 0o777).toBe(0o600);
    expect(stdout).toBe('Queue orders: 2 imported, 0 replaced, 2 unchanged, 2 refused.\n');
    expect(stderr).not.toContain('whsec');
    rmSync(output);
    const again = await api.run([...IMPORT, '--output', output, '--json'], { input: inputOf(3) });
    expect(jsonLines(again.stdout)).toEqual([{ imported: 1, replaced: 0, unchanged: 1, failed: 1 }]);
  });

  it('sends no request if the output file exists, because its secrets would be lost', async () => {
    writeFileSync(output, 'secrets of an earlier import');
    const api = await stubApi({ [PATH]: (_, index) => answered(index) });
    const { status, stderr } = await api.run([...IMPORT, '--output', output], { input: inputOf(1) });
    expect(status).toBe(1);
    expect(stderr).toContain('cannot be written');
    expect(readFileSync(output, 'utf8')).toBe('secrets of an earlier import');
    expect(api.requests).toEqual([]);
  });

  it('keeps the results of earlier requests if one fails, and reports the line at which it stopped', async () => {
    const api = await stubApi({
      [PATH]: (_, index) => (index === 0 ? answered(0) : refusal(409, 'conflict', 'is being deleted')),
    });
    const { status, stderr } = await api.run([...IMPORT, '--output', output], { input: inputOf(1200) });
    expect(status).toBe(1);
    expect(jsonLines(readFileSync(output, 'utf8'))).toEqual(LINES.slice(0, 3));
    expect(stderr).toContain('The import stopped at line 501');
    expect(stderr).toContain('is being deleted');
    expect(api.requests.filter(({ method }) => method === 'POST')).toHaveLength(2);
  });

  it('leaves no empty output file if nothing was imported', async () => {
    const api = await stubApi({ [PATH]: () => refusal(409, 'conflict', 'is being deleted') });
    await api.run([...IMPORT, '--output', output], { input: inputOf(1) });
    expect(existsSync(output)).toBe(false);
  });

  it('completes the current request when interrupted, and starts no other', async () => {
    const begun = Promise.withResolvers<undefined>();
    const api = await stubApi({
      [PATH]: (_, index) => {
        begun.resolve(undefined);
        return answered(index);
      },
    });
    const { status, stdout } = await api.run([...IMPORT, '--json'], {
      onStart: ({ stdin, interrupt }) => {
        stdin.end(inputOf(700));
        void begun.promise.then(interrupt);
      },
    });
    expect(status).toBe(130);
    expect(jsonLines(stdout)).toEqual(LINES.slice(0, 3));
  });

  it('prints nothing from a response with an unexpected form', async () => {
    const api = await stubApi({
      [PATH]: () => json({ subscriptions: [{ line: 1, result: 'imported', secret: 'whsec_0' }], failed: [] }),
    });
    const { status, stdout, stderr } = await api.run(IMPORT, { input: inputOf(1) });
    expect(status).toBe(1);
    expect(stdout + stderr).not.toContain('whsec');
  });
});

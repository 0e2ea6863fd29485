import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOnce } from '../../bench/cold/start-once.ts';
import { Problem } from '../../local/install/problem.mjs';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cold-start-'));
  await writeFile(join(folder, 'event.json'), '{"asked":true}');
});

afterAll(() => rm(folder, { recursive: true }));

/** Starts a module with this text. */
const started = async (source: string) => {
  const bundle = join(folder, 'program.mjs');
  await writeFile(bundle, source);
  const program = { name: 'program', bundle, event: join(folder, 'event.json'), env: {} };
  return startOnce(program, AbortSignal.timeout(20_000));
};

const busyFor = (milliseconds: number): string =>
  `{ const end = performance.now() + ${milliseconds}; while (performance.now() < end); }`;

describe('one cold start', () => {
  it('tells the time of the module from that of its first invocation', async () => {
    const { load, first } = await started(
      `${busyFor(100)}; export const handler = async () => ${busyFor(400)}`,
    );
    expect(load.wallMs).toBeGreaterThanOrEqual(100);
    expect(first.wallMs).toBeGreaterThanOrEqual(400);
  });

  it('gives the handler its event', async () => {
    const source = `export const handler = async ({ asked }) => { if (!asked) throw new Error('no event'); };`;
    await expect(started(source)).resolves.toBeDefined();
  });

  it.each([
    ['does not load', 'import "./nowhere.mjs";'],
    ['throws', 'export const handler = async () => { throw new Error("out of order"); };'],
    [
      'does not acknowledge its record',
      'export const handler = async () => ({ batchItemFailures: [{ itemIdentifier: "1" }] });',
    ],
    ['answers with a fault', 'export const handler = async () => ({ statusCode: 500 });'],
  ])('is no figure where the program %s', async (_, source) => {
    await expect(started(source)).rejects.toThrow(Problem);
  });
});

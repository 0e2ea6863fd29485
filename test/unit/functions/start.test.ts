import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, functionNames } from '../../support/bundle.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'start-'));
});

afterAll(() => rm(folder, { recursive: true }));

/** The text of a bundle file and of everything it imports statically. */
const loadedWith = async (file: string, seen = new Set<string>()): Promise<string> => {
  if (seen.has(file)) return '';
  seen.add(file);
  const text = await readFile(file, 'utf8');
  const imported = [...text.matchAll(/(?:from|import)"\.\/(part-\w+\.mjs)"/g)].map(([, name = '']) => name);
  const texts = await Promise.all(imported.map((name) => loadedWith(join(file, '..', name), seen)));
  return [text, ...texts].join('\n');
};

/** The text of all files of a function's bundle. */
const textsOf = async (name: string): Promise<string> => {
  const files = (await readdir(join(folder, name))).filter((file) => file.endsWith('.mjs'));
  const texts = await Promise.all(files.map((file) => readFile(join(folder, name, file), 'utf8')));
  return texts.join('\n');
};

/** A word per client that occurs only in that client. */
const clients = {
  DynamoDB: 'DynamoDB_20120810',
  S3: 'com.amazonaws.s3',
  Scheduler: 'com.amazonaws.scheduler',
  EventBridge: 'com.amazonaws.eventbridge',
  OAuth: 'urn:ietf:params:oauth',
};

describe('the cold start of a function', () => {
  it.each(functionNames)('of %s loads no client that is needed only on demand', async (name) => {
    const file = join(folder, name, 'index.mjs');
    const { start, whole } = await bundle(
      new URL(`../../../functions/${name}/handler.ts`, import.meta.url),
      file,
    );
    const text = await loadedWith(file);
    expect(
      Object.entries(clients).flatMap(([client, word]) => (text.includes(word) ? [client] : [])),
    ).toEqual(['DynamoDB']);
    expect(Buffer.byteLength(text)).toBeGreaterThanOrEqual(start);
    expect(start).toBeLessThan(whole);
  });

  it('of deliver leaves those clients in separate files', async () => {
    const texts = await textsOf('deliver');
    for (const word of Object.values(clients)) expect(texts).toContain(word);
  });
});

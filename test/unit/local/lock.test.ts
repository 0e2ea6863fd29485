import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { takeLock } from '../../../local/install/lock.mjs';
import { temporaryFolder } from '../../support/temporary-folder.ts';

describe('the lock of a start', () => {
  let file = '';
  beforeEach(() => (file = join(temporaryFolder(), 'deeper', 'start.json')));
  const taken = (isAlive?: () => boolean) => {
    const lock = takeLock(file, isAlive);
    if (lock.kind !== 'taken') throw new Error('the lock is held');
    return lock;
  };

  it('names the process that holds it, and is deleted when released', () => {
    const lock = taken();
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: process.pid });
    lock.release();
    expect(existsSync(file)).toBe(false);
  });

  it('is refused to a second process, with the name of the holder', () => {
    const lock = taken();
    expect(takeLock(file, () => true)).toMatchObject({ kind: 'held', by: { pid: process.pid } });
    expect(existsSync(file)).toBe(true);
    lock.release();
  });

  it('is taken over from a process that has ended', () => {
    taken();
    taken(() => false).release();
    expect(existsSync(file)).toBe(false);
  });

  it('is taken over from a running process that is not a start, because its id was reused', () => {
    const first = taken();
    writeFileSync(file, JSON.stringify({ pid: 1, since: '2026-01-01T00:00:00.000Z' }));
    taken().release();
    first.release();
  });

  it('is taken over if a crash left an incomplete file', () => {
    const first = taken();
    writeFileSync(file, '{"pid":');
    taken(() => true).release();
    first.release();
  });
});

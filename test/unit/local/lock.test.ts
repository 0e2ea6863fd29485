import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takeLock } from '../../../local/install/lock.mjs';

describe('the lock of a start', () => {
  let folder = '';
  let file = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lock-'));
    file = join(folder, 'deeper', 'start.json');
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });
  const taken = (lives?: () => boolean) => {
    const lock = takeLock(file, lives);
    if (lock.kind !== 'taken') throw new Error('the lock is held');
    return lock;
  };

  it('names the process that holds it, and is gone when released', () => {
    const lock = taken();
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: process.pid });
    lock.release();
    expect(existsSync(file)).toBe(false);
  });

  it('is refused to a second, who learns whose it is', () => {
    const lock = taken();
    expect(takeLock(file, () => true)).toMatchObject({ kind: 'held', by: { pid: process.pid } });
    expect(existsSync(file)).toBe(true);
    lock.release();
  });

  it('is taken over from a process that is gone', () => {
    taken();
    taken(() => false).release();
    expect(existsSync(file)).toBe(false);
  });

  it('is taken over from a living process that is no start: its number was given again', () => {
    const first = taken();
    writeFileSync(file, JSON.stringify({ pid: 1, since: '2026-01-01T00:00:00.000Z' }));
    taken().release();
    first.release();
  });

  it('is taken over where a crash left half of it', () => {
    const first = taken();
    writeFileSync(file, '{"pid":');
    taken(() => true).release();
    first.release();
  });
});

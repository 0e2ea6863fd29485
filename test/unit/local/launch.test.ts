import { describe, expect, it } from 'vitest';
import { alreadyRunningText, foreignFolderText } from '../../../local/launch.mjs';

describe('the message of a second start', () => {
  const holder = { pid: 4711, since: '2026-01-01T00:00:00.000Z' };

  it('says where to find the running system', () => {
    expect(alreadyRunningText(holder, true)).toMatch(
      /already running in this folder \(process 4711, .*\.local\/endpoints\.json/,
    );
  });

  it('says to wait for a system that is still starting and has no endpoints yet', () => {
    const said = alreadyRunningText(holder, false);
    expect(said).toMatch(/is starting or stopping in this folder \(process 4711, .*Wait for it/);
    expect(said).not.toContain('endpoints.json');
  });
});

describe('the folder of a start', () => {
  it.each([
    ['the user', { owner: 1000, parent: 0, user: 1000 }],
    ['root', { owner: 0, parent: 1000, user: 1000 }],
    ['the owner of the folder around it, as in a container', { owner: 1000, parent: 1000, user: 0 }],
    ['anyone, where users have no id', { owner: 0, parent: 0, user: undefined }],
  ])('may belong to %s', (_who, ids) => {
    expect(foreignFolderText(ids)).toBeUndefined();
  });

  it('must not belong to another user, who made it first and whose code would run', () => {
    expect(foreignFolderText({ owner: 1001, parent: 0, user: 1000 })).toMatch(
      /belongs to another user \(1001\)/,
    );
  });
});

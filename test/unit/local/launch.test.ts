import { describe, expect, it } from 'vitest';
import { alreadyRunningText } from '../../../local/launch.mjs';

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

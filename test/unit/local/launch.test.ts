import { describe, expect, it } from 'vitest';
import { heldBy } from '../../../local/launch.mjs';

describe('a start beside another', () => {
  const holder = { pid: 4711, since: '2026-01-01T00:00:00.000Z' };

  it('is told where to find the one that is up', () => {
    expect(heldBy(holder, true)).toMatch(/already running here \(process 4711, .*\.local\/endpoints\.json/);
  });

  it('is told to wait for the one that is not up yet, which has no endpoints to look at', () => {
    const said = heldBy(holder, false);
    expect(said).toMatch(/is starting here \(process 4711, .*Wait for it/);
    expect(said).not.toContain('endpoints.json');
  });
});

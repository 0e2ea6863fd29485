import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseSettings } from '../../infra/settings.ts';
import { resourceAt, templatesFor } from './templates.ts';

const variablesOf = (settings: Record<string, unknown>, name: string): Record<string, unknown> =>
  z
    .object({ Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }) })
    .parse(
      resourceAt(templatesFor(settings).pipeline, 'AWS::Lambda::Function', `Pipeline${name}Function`)
        .Properties,
    ).Environment.Variables;

describe('the ports that subscribers may be at', () => {
  it('are given one by one and in ranges, as numbers and as text', () => {
    expect(parseSettings({}).allowedPorts).toEqual([]);
    expect(parseSettings({ allowedPorts: '443' }).allowedPorts).toEqual(['443']);
    expect(parseSettings({ allowedPorts: 443 }).allowedPorts).toEqual(['443']);
    for (const allowedPorts of ['443, 8000-9000', '[443, "8000-9000"]', [443, '8000-9000']]) {
      expect(parseSettings({ allowedPorts }).allowedPorts).toEqual(['443', '8000-9000']);
    }
  });

  it.each(['Deliver', 'Api'])('are known to %s', (name) => {
    expect(variablesOf({}, name)['ALLOWED_PORTS']).toBe('[]');
    const allowedPorts = '443, 8000-9000';
    expect(variablesOf({ allowedPorts }, name)['ALLOWED_PORTS']).toBe('["443","8000-9000"]');
  });
});

describe("the names of AWS's endpoints", () => {
  it("are looked up by deliver in 64 threads, so that a full batch of new connections is not held up by Node's 4", () => {
    expect(variablesOf({}, 'Deliver')['UV_THREADPOOL_SIZE']).toBe('64');
  });
});

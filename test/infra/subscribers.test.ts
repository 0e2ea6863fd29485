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

describe('the allowed ports of subscribers', () => {
  it('can be single ports and ranges, as numbers and as text', () => {
    expect(parseSettings({}).allowedPorts).toEqual([]);
    expect(parseSettings({ allowedPorts: '443' }).allowedPorts).toEqual(['443']);
    expect(parseSettings({ allowedPorts: 443 }).allowedPorts).toEqual(['443']);
    for (const allowedPorts of ['443, 8000-9000', '[443, "8000-9000"]', [443, '8000-9000']]) {
      expect(parseSettings({ allowedPorts }).allowedPorts).toEqual(['443', '8000-9000']);
    }
  });

  it.each(['Deliver', 'Api'])('are passed to %s', (name) => {
    expect(variablesOf({}, name)['ALLOWED_PORTS']).toBe('[]');
    const allowedPorts = '443, 8000-9000';
    expect(variablesOf({ allowedPorts }, name)['ALLOWED_PORTS']).toBe('["443","8000-9000"]');
  });
});

describe('DNS lookups of AWS endpoints', () => {
  it('use 64 threads in deliver, because the default of 4 would delay a full batch of new connections', () => {
    expect(variablesOf({}, 'Deliver')['UV_THREADPOOL_SIZE']).toBe('64');
  });
});

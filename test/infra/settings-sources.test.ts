import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { settingsFile, settingsPage } from '../../infra/settings-page.ts';
import { parseSettings, settingsInContext } from '../../infra/settings.ts';

describe('docs/settings.md', () => {
  it('is up to date (npm run docs:settings)', async () => {
    expect(readFileSync(settingsFile, 'utf8')).toBe(await settingsPage());
  });
});

describe('settings from the context of an app', () => {
  it('are separated from the keys of CDK', () => {
    const context = {
      '@aws-cdk/core:flag': true,
      'aws:cdk:x': 1,
      'cli-telemetry': false,
      retentionDays: '20',
    };
    expect(settingsInContext(context)).toEqual({ retentionDays: '20' });
  });

  it('yield to those in the key posthaste, an object or JSON', () => {
    const rest = { retentionDays: '20', local: 'true' };
    const merged = { retentionDays: 40, local: 'true' };
    expect(settingsInContext({ ...rest, posthaste: { retentionDays: 40 } })).toEqual(merged);
    expect(settingsInContext({ ...rest, posthaste: '{"retentionDays": 40}' })).toEqual(merged);
  });

  it.each(['retentionDays=40', 7, ['local']])('cannot be %j in the key posthaste', (posthaste) => {
    expect(() => settingsInContext({ posthaste })).toThrow(/posthaste must be a JSON object of settings/);
  });

  it('are refused when misspelt, with the key and all settings in the error', () => {
    expect(() => parseSettings(settingsInContext({ retentiondays: '20' }))).toThrow(
      /retentiondays is not a setting.*retentionDays/,
    );
  });
});

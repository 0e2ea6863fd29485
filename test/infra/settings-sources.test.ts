import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { settingsFile, settingsPage } from '../../infra/settings-page.ts';
import { settingsFromContext } from '../../infra/settings.ts';

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
    expect(settingsFromContext(context).retentionDays).toBe(20);
  });

  it('are refused when misspelt, with the key and all settings in the error', () => {
    expect(() => settingsFromContext({ retentiondays: '20' })).toThrow(
      /retentiondays is not a setting.*retentionDays/,
    );
  });
});

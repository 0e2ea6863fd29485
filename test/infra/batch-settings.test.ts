import { describe, expect, it } from 'vitest';
import { parseSettings, SettingsError } from '../../infra/settings.ts';
import { resourceAt, templatesFor } from './templates.ts';

describe('the batch settings', () => {
  it('default to ten subscriptions in a job and ten messages in an invocation, without a window', () => {
    expect(parseSettings({})).toMatchObject({
      firstAttemptsPerJob: 10,
      messagesPerBatch: 10,
      batchWindowSeconds: 0,
    });
  });

  it.each([
    ['firstAttemptsPerJob', '0'],
    ['firstAttemptsPerJob', '26'],
    ['messagesPerBatch', 0],
    ['messagesPerBatch', 101],
    ['batchWindowSeconds', 61],
  ])('name the setting in the error: %s = %j', (key, value) => {
    expect(() => parseSettings({ batchWindowSeconds: 1, [key]: value })).toThrow(SettingsError);
    expect(() => parseSettings({ batchWindowSeconds: 1, [key]: value })).toThrow(key);
  });

  it('require a window for more than ten messages in an invocation', () => {
    expect(() => parseSettings({ messagesPerBatch: 11 })).toThrow(/needs batchWindowSeconds/);
    expect(parseSettings({ messagesPerBatch: 11, batchWindowSeconds: 1 })).toMatchObject({
      messagesPerBatch: 11,
    });
  });

  it('are refused if an invocation would make more requests at once than it has connections', () => {
    const settings = { batchWindowSeconds: 1, firstAttemptsPerJob: 10 };
    expect(parseSettings({ ...settings, messagesPerBatch: 50 })).toMatchObject({ messagesPerBatch: 50 });
    expect(() => parseSettings({ ...settings, messagesPerBatch: 51 })).toThrow(
      /firstAttemptsPerJob × messagesPerBatch is 510, but must be at most 500/,
    );
  });

  it.each([
    ['DeliveryAge', {}, 500],
    ['DeliveryAge', { deliverConcurrency: 40, messagesPerBatch: 50, batchWindowSeconds: 1 }, 1_000],
    ['RetryAge', { messagesPerBatch: 50, batchWindowSeconds: 1 }, 250],
  ])(
    'decide when workers count as busy, at half of what they can hold: %s with %j',
    (alarm, settings, busy) => {
      const { monitoring } = templatesFor(settings);
      const { Properties } = resourceAt(monitoring, 'AWS::CloudWatch::Alarm', `MonitoringAlarms${alarm}`);
      expect(JSON.stringify(Properties['Metrics'])).toContain(`FILL(taken, 0) >= ${busy} `);
    },
  );
});

import { describe, expect, it } from 'vitest';
import { parseSettings, SettingsError } from '../../infra/settings.ts';

describe('the settings of how much is done together', () => {
  it('are ten subscriptions a job and ten messages an invocation, without waiting for more', () => {
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
  ])('are refused by name where %s is %j', (key, value) => {
    expect(() => parseSettings({ batchWindowSeconds: 1, [key]: value })).toThrow(SettingsError);
    expect(() => parseSettings({ batchWindowSeconds: 1, [key]: value })).toThrow(key);
  });

  it('ask for a window where an invocation is to take more than SQS gives at once', () => {
    expect(() => parseSettings({ messagesPerBatch: 11 })).toThrow(/needs batchWindowSeconds/);
    expect(parseSettings({ messagesPerBatch: 11, batchWindowSeconds: 1 })).toMatchObject({
      messagesPerBatch: 11,
    });
  });

  it('are refused together where an invocation would make more requests at once than it has connections for', () => {
    const settings = { batchWindowSeconds: 1, firstAttemptsPerJob: 10 };
    expect(parseSettings({ ...settings, messagesPerBatch: 50 })).toMatchObject({ messagesPerBatch: 50 });
    expect(() => parseSettings({ ...settings, messagesPerBatch: 51 })).toThrow(
      /firstAttemptsPerJob × messagesPerBatch may be 500 at most.*here it is 510/,
    );
  });
});

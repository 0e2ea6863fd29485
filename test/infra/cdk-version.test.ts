import { describe, expect, it } from 'vitest';
import { requireCdk } from '../../infra/cdk-version.ts';

describe('the version of aws-cdk-lib', () => {
  it.each(['2.9.0', '2.189.1', '1.204.0'])(
    '%s is too old, and the error says which one is needed',
    (found) => {
      expect(() => {
        requireCdk(found, '^2.190.0');
      }).toThrow(`Posthaste needs aws-cdk-lib 2.190.0 or later, and found ${found}`);
    },
  );

  it.each(['2.190.0', '2.276.0'])('%s will do', (found) => {
    expect(() => {
      requireCdk(found, '^2.190.0');
    }).not.toThrow();
  });
});

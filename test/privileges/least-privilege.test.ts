import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { readCallLog, type Use } from '../../local/call-log.ts';
import { readEndpoints } from '../../local/endpoints.ts';
import { compare } from './comparison.ts';
import { deployedStacks } from './deployed-stacks.ts';
import { exceptions } from './exceptions.ts';
import { grantsOf, type Grant } from './grants.ts';

let granted: readonly Grant[];
let used: readonly Use[];

beforeAll(async () => {
  const log = inject('callLog');
  const endpoints = readEndpoints(join(dirname(log), 'endpoints.json'));
  if (endpoints === undefined)
    throw new Error('This looks back on the deployed tests: run it with them (npm test).');
  used = readCallLog(log).filter((entry) => entry.kind === 'use');
  const { account, stacks } = await deployedStacks(endpoints.endpoint);
  granted = stacks.flatMap((stack) => grantsOf(stack, account));
});

describe('in the deployed tests the functions', () => {
  it('use all that they are granted, and nothing else', () => {
    expect(granted.length).toBeGreaterThan(0);
    expect(compare({ granted, used, exceptions })).toEqual([]);
  });

  it('would be seen to lack any grant that is taken away', () => {
    const excepted = new Set(exceptions.map(({ action }) => action));
    // What no test can show to be used none can show to be missing: those are told by the infra tests.
    for (const grant of granted.filter(({ action }) => !excepted.has(action))) {
      const rest = granted.filter((other) => other !== grant);
      const findings = compare({ granted: rest, used, exceptions });
      expect(
        findings.map(({ kind }) => kind),
        JSON.stringify(grant),
      ).toContain('used_not_granted');
    }
  });

  it('would be seen to have one too many', () => {
    const roles = [...new Set(granted.map(({ role }) => role))];
    for (const role of roles) {
      const added = { role, action: 'dynamodb:Scan', resource: '*' };
      expect(compare({ granted: [...granted, added], used, exceptions })).toContainEqual({
        kind: 'granted_not_used',
        ...added,
      });
    }
  });
});

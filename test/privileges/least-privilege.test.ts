import { readCallLog, type Use } from '../support/call-log.ts';
import { readEndpoints } from '../../local/endpoints.ts';
import { compare, type Exception } from './comparison.ts';
import { deployedStacks } from './deployed-stacks.ts';
import { type Grant, grantsOf } from './grants.ts';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';

const BY_LAMBDA = 'Lambda does it with the role of the function; the local AWS does not check IAM for it';

/** Grants whose use the run cannot show. */
const exceptions: readonly Exception[] = [
  { action: 'sqs:ReceiveMessage', reason: BY_LAMBDA },
  { action: 'sqs:DeleteMessage', reason: BY_LAMBDA },
  { role: 'Dispatch', action: 'sqs:GetQueueAttributes', reason: BY_LAMBDA },
  { role: 'Deliver', action: 'sqs:GetQueueAttributes', reason: BY_LAMBDA },
  { role: 'Operate', action: 'sqs:GetQueueAttributes', reason: BY_LAMBDA },
  {
    action: 'sqs:ChangeMessageVisibility',
    reason: 'used only after an internal error, which tests cannot cause from outside on every queue',
  },
  { action: 'logs:CreateLogStream', reason: BY_LAMBDA },
  { action: 'logs:PutLogEvents', reason: BY_LAMBDA },
  {
    action: 'iam:PassRole',
    reason: 'Scheduler checks it when a schedule is created; the local AWS does not',
  },
  {
    role: 'Operate',
    action: 's3:DeleteObject',
    reason:
      'used when a message is erased between two calls of a recovery, which tests cannot time from outside',
  },
  {
    role: 'Secrets',
    action: 's3:PutObject',
    reason: 'used to keep on the data of what was received weeks later, which tests cannot wait for',
  },
  {
    role: 'Secrets',
    action: 's3:DeleteObject',
    reason: 'used when a message is erased while its data is kept on',
  },
  {
    action: 's3:ListBucket',
    reason: 'not called: it makes S3 answer 404 instead of 403 for missing objects',
  },
];

let granted: readonly Grant[];
let used: readonly Use[];

beforeAll(async () => {
  const log = inject('useLog');
  const endpoints = readEndpoints(join(dirname(log), 'endpoints.json'));
  if (endpoints === undefined)
    throw new Error(
      'This test checks which permissions the deployed tests used. Run it together with them (npm test).',
    );
  used = readCallLog(log).filter((entry) => entry.kind === 'use');
  const { account, stacks } = await deployedStacks(endpoints);
  granted = stacks.flatMap((stack) => grantsOf(stack, account));
});

describe('the grants of the functions', () => {
  it('are exactly what the functions use in the deployed tests', () => {
    expect(granted.length).toBeGreaterThan(0);
    expect(compare({ granted, used, exceptions })).toEqual([]);
  });

  it('would be reported missing if any one were removed', () => {
    const excepted = new Set(exceptions.map(({ action }) => action));
    // If the run cannot show the use of a grant, it cannot show its absence. The infra tests check these.
    for (const grant of granted.filter(({ action }) => !excepted.has(action))) {
      const rest = granted.filter((other) => other !== grant);
      const findings = compare({ granted: rest, used, exceptions });
      expect(
        findings.map(({ kind }) => kind),
        JSON.stringify(grant),
      ).toContain('used_not_granted');
    }
  });

  it('would be reported unused if one were added', () => {
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

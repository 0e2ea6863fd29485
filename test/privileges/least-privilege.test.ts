import { readCallLog, type Use } from '../../local/call-log.ts';
import { readEndpoints } from '../../local/endpoints.ts';
import { compare, type Exception } from './comparison.ts';
import { deployedStacks } from './deployed-stacks.ts';
import { type Grant, grantsOf } from './grants.ts';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';

const BY_LAMBDA = 'Lambda does it in the name of the function, and the local AWS does it without asking IAM';

/** What the run cannot show. Each is as narrow as its reason. */
const exceptions: readonly Exception[] = [
  { action: 'sqs:ReceiveMessage', reason: BY_LAMBDA },
  { action: 'sqs:DeleteMessage', reason: BY_LAMBDA },
  { role: 'Dispatch', action: 'sqs:GetQueueAttributes', reason: BY_LAMBDA },
  { role: 'Deliver', action: 'sqs:GetQueueAttributes', reason: BY_LAMBDA },
  { role: 'Operate', action: 'sqs:GetQueueAttributes', reason: BY_LAMBDA },
  {
    action: 'sqs:ChangeMessageVisibility',
    reason: 'only after a fault of ours, which no test can bring about from outside on every queue',
  },
  { action: 'logs:CreateLogStream', reason: BY_LAMBDA },
  { action: 'logs:PutLogEvents', reason: BY_LAMBDA },
  {
    action: 'iam:PassRole',
    reason: 'Scheduler checks it as a schedule is created; the local AWS does not',
  },
  {
    role: 'Operate',
    action: 's3:DeleteObject',
    reason:
      'for a message that is erased between two calls of a recovery, which no test can time from outside',
  },
  {
    action: 's3:ListBucket',
    reason: 'nothing is listed: with it S3 answers 404 for an object that is not there, without it 403',
  },
];

let granted: readonly Grant[];
let used: readonly Use[];

beforeAll(async () => {
  const log = inject('callLog');
  const endpoints = readEndpoints(join(dirname(log), 'endpoints.json'));
  if (endpoints === undefined)
    throw new Error('This looks back on the deployed tests: run it with them (npm test).');
  used = readCallLog(log).filter((entry) => entry.kind === 'use');
  const { account, stacks } = await deployedStacks(endpoints);
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

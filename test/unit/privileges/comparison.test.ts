import { describe, expect, it } from 'vitest';
import type { Use } from '../../support/call-log.ts';
import { compare, type Exception } from '../../privileges/comparison.ts';
import { grantsOf, type Account, type DeployedStack } from '../../privileges/grants.ts';

const account: Account = {
  account: '111122223333',
  region: 'eu-west-1',
  exports: new Map([['State:Table', 'arn:aws:dynamodb:eu-west-1:111122223333:table/T']]),
};

type Statement = { Effect: 'Allow'; Action: string | string[]; Resource: unknown };

const sends: Statement = {
  Effect: 'Allow',
  Action: 'sqs:SendMessage',
  Resource: { 'Fn::GetAtt': ['Retry', 'Arn'] },
};
const reads: Statement = {
  Effect: 'Allow',
  Action: ['dynamodb:GetItem', 'dynamodb:Query'],
  Resource: [
    { 'Fn::ImportValue': 'State:Table' },
    { 'Fn::Join': ['', [{ 'Fn::ImportValue': 'State:Table' }, '/index/by-hour']] },
  ],
};

const roleFor = (service: string) => ({
  Type: 'AWS::IAM::Role',
  Properties: { AssumeRolePolicyDocument: { Statement: [{ Principal: { Service: service } }] } },
});

const stackWith = (statements: readonly Statement[], service = 'lambda.amazonaws.com'): DeployedStack => ({
  template: {
    Resources: {
      DeliverRole: roleFor(service),
      DeliverPolicy: {
        Type: 'AWS::IAM::Policy',
        Properties: { Roles: [{ Ref: 'DeliverRole' }], PolicyDocument: { Statement: statements } },
      },
    },
  },
  resources: new Map([
    ['DeliverRole', { type: 'AWS::IAM::Role', physicalId: 'P-DeliverRole-1' }],
    ['Retry', { type: 'AWS::SQS::Queue', physicalId: 'https://sqs/111122223333/P-Retry-1' }],
  ]),
});

const table = 'arn:aws:dynamodb:eu-west-1:111122223333:table/T';
const queue = 'arn:aws:sqs:eu-west-1:111122223333:P-Retry-1';

const use = (action: string, resource: string, allowed = true): Use => ({
  kind: 'use',
  at: 0,
  caller: 'arn:aws:sts::111122223333:assumed-role/P-DeliverRole-1/P-Deliver-1',
  action,
  resource,
  allowed,
});

const used = [
  use('sqs:SendMessage', queue),
  use('dynamodb:GetItem', table),
  use('dynamodb:Query', `${table}/index/by-hour`),
];
const exceptions: Exception[] = [
  { role: 'Deliver', action: 'dynamodb:Query', resource: 'table/T', reason: 'for the test' },
  { role: 'Deliver', action: 'dynamodb:GetItem', resource: 'index', reason: 'for the test' },
];

const findings = (statements: readonly Statement[], seen = used, excepted = exceptions) =>
  compare({ granted: grantsOf(stackWith(statements), account), used: seen, exceptions: excepted });

describe('the comparison of granted and used permissions', () => {
  it('finds nothing if each grant is used or excepted', () => {
    expect(findings([sends, reads])).toEqual([]);
  });

  it('reads grants from the template, with intrinsic functions resolved', () => {
    expect(
      grantsOf(stackWith([sends, reads]), account).map(({ action, resource }) => [action, resource]),
    ).toEqual([
      ['sqs:SendMessage', queue],
      ['dynamodb:GetItem', table],
      ['dynamodb:GetItem', `${table}/index/by-hour`],
      ['dynamodb:Query', table],
      ['dynamodb:Query', `${table}/index/by-hour`],
    ]);
  });

  it('reports a removed statement', () => {
    expect(findings([reads])).toEqual([
      { kind: 'used_not_granted', role: 'P-DeliverRole-1', action: 'sqs:SendMessage', resource: queue },
    ]);
  });

  it('reports an added statement, also for another resource', () => {
    const scans: Statement = { Effect: 'Allow', Action: 'dynamodb:Scan', Resource: '*' };
    expect(findings([sends, reads, scans])).toEqual([
      { kind: 'granted_not_used', role: 'P-DeliverRole-1', action: 'dynamodb:Scan', resource: '*' },
    ]);
    const elsewhere: Statement = { ...sends, Resource: `${queue}-other` };
    expect(findings([sends, reads, elsewhere])).toMatchObject([
      { kind: 'granted_not_used', resource: `${queue}-other` },
    ]);
  });

  it('reports refused calls and unused grants', () => {
    const seen = [...used.slice(1), use('sqs:SendMessage', queue, false)];
    expect(findings([sends, reads], seen).map(({ kind }) => kind)).toEqual(['granted_not_used', 'refused']);
  });

  it('matches wildcards like IAM, and all other characters literally', () => {
    const objects: Statement = { Effect: 'Allow', Action: 's3:GetObject', Resource: 'arn:aws:s3:::b.c/*' };
    expect(findings([sends, reads, objects], [...used, use('s3:GetObject', 'arn:aws:s3:::b.c/k/1')])).toEqual(
      [],
    );
    expect(
      findings([sends, reads, objects], [...used, use('s3:GetObject', 'arn:aws:s3:::b-c/k')]).map(
        ({ kind }) => kind,
      ),
    ).toEqual(['granted_not_used', 'used_not_granted']);
  });

  it('reports an exception that is not needed', () => {
    const needless = { action: 'kms:Decrypt', reason: 'for the test' };
    expect(findings([sends, reads], used, [...exceptions, needless])).toEqual([
      { kind: 'needless_exception', ...needless },
    ]);
    expect(findings([sends, reads], [...used, use('dynamodb:Query', table)])).toMatchObject([
      { kind: 'needless_exception', action: 'dynamodb:Query' },
    ]);
  });

  it('ignores roles and callers that are not functions', () => {
    expect(grantsOf(stackWith([sends], 'scheduler.amazonaws.com'), account)).toEqual([]);
    const other = { ...use('s3:PutObject', 'arn:aws:s3:::x/y'), caller: 'arn:aws:sts::1:assumed-role/Cdk/x' };
    expect(findings([sends, reads], [...used, other])).toEqual([]);
  });

  it('refuses an unknown intrinsic function', () => {
    const mapped: Statement = { ...sends, Resource: { 'Fn::FindInMap': ['a', 'b', 'c'] } };
    expect(() => findings([mapped])).toThrow();
  });
});

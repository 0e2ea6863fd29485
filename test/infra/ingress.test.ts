import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { arnOf, resourceAt, resourcesOf, statementsAt, templatesFor } from './templates.ts';

const payloadSources = [
  { bucket: 'shop-exports', prefix: 'webhooks/' },
  {
    bucket: 'partner-data',
    owner: '999900001111',
    keyArn: 'arn:aws:kms:eu-central-1:999900001111:key/1234abcd-12ab-34cd-56ef-1234567890ab',
  },
];

const { pipeline } = templatesFor({ payloadSources });

const partitioned = (rest: string) => ({ 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, rest]] });

describe('payload sources', () => {
  const statements = statementsAt(pipeline, 'PipelineDispatchRoleDefaultPolicy');

  it('can be read by dispatch, only under their prefixes', () => {
    expect(statements.filter(({ actions }) => actions.includes('s3:GetObjectVersion'))).toEqual([
      {
        effect: 'Allow',
        actions: ['s3:GetObject', 's3:GetObjectVersion'],
        resources: [
          partitioned(':s3:::shop-exports/webhooks/*'),
          partitioned(':s3:::partner-data/*'),
        ].toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other))),
        condition: undefined,
      },
    ]);
  });

  it('cannot be listed: dispatch lists only the payload bucket, for repeats whose source object is deleted', () => {
    const listed = statements.filter(({ actions }) => actions.includes('s3:ListBucket'));
    expect(listed.flatMap(({ resources }) => resources)).toEqual([
      { 'Fn::ImportValue': expect.stringContaining('StatePayloadsBucket') as unknown },
    ]);
    expect(statements.flatMap(({ actions }) => actions)).toContain('dynamodb:GetItem');
  });

  it('allow decryption with their KMS key if they have one', () => {
    expect(statements.filter(({ actions }) => actions.includes('kms:Decrypt'))).toMatchObject([
      { effect: 'Allow', resources: [payloadSources[1]?.keyArn] },
    ]);
  });

  it("are passed to dispatch with the account that must own each, by default the deployment's", () => {
    const { Environment } = z
      .object({ Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }) })
      .parse(resourceAt(pipeline, 'AWS::Lambda::Function', 'PipelineDispatchFunction').Properties);
    expect(Environment.Variables['PAYLOAD_SOURCES']).toEqual({
      'Fn::Join': [
        '',
        [
          '[{"bucket":"shop-exports","prefix":"webhooks/","owner":"',
          { Ref: 'AWS::AccountId' },
          '"},{"bucket":"partner-data","prefix":"","owner":"999900001111"}]',
        ],
      ],
    });
  });
});

describe('the memory of dispatch', () => {
  it.each([
    { sources: [], megabytes: 512 },
    { sources: payloadSources, megabytes: 1024 },
  ])(
    'is $megabytes MB with $sources.length sources, so that ten of the largest messages fit',
    ({ sources, megabytes }) => {
      const { pipeline: template } = templatesFor({ payloadSources: sources });
      expect(
        resourceAt(template, 'AWS::Lambda::Function', 'PipelineDispatchFunction').Properties['MemorySize'],
      ).toBe(megabytes);
    },
  );
});

describe('the policy of the ingress queue', () => {
  const policyWith = (settings: Record<string, unknown>): unknown[] => {
    const { pipeline: template } = templatesFor(settings);
    const { id } = resourceAt(template, 'AWS::SQS::Queue', 'PipelineIngressQueue');
    const policies = [...resourcesOf(template, 'AWS::SQS::QueuePolicy').values()].map(({ Properties }) =>
      z
        .object({
          Queues: z.array(z.unknown()),
          PolicyDocument: z.object({ Statement: z.array(z.unknown()) }),
        })
        .parse(Properties),
    );
    const ingressPolicies = policies.filter(
      ({ Queues }) => JSON.stringify(Queues) === JSON.stringify([{ Ref: id }]),
    );
    return ingressPolicies.flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
  };

  it('allows no service to send by default', () => {
    expect(policyWith({})).toEqual([expect.objectContaining({ Effect: 'Deny' })]);
  });

  it('allows the topics and rules of the setting to send, each by its service', () => {
    const topics = ['arn:aws:sns:eu-central-1:111122223333:orders-topic'];
    const rules = [
      'arn:aws:events:eu-central-1:111122223333:rule/orders',
      'arn:aws:events:eu-central-1:111122223333:rule/shop-bus/orders',
    ];
    const { pipeline: template } = templatesFor();
    const queue = arnOf(resourceAt(template, 'AWS::SQS::Queue', 'PipelineIngressQueue').id);
    const allowed = (service: string, senders: string[]) => ({
      Effect: 'Allow',
      Action: 'sqs:SendMessage',
      Principal: { Service: `${service}.amazonaws.com` },
      Resource: queue,
      Condition: { ArnEquals: { 'aws:SourceArn': senders } },
    });
    expect(policyWith({ ingressSenders: [...rules, ...topics].join(', ') })).toEqual([
      expect.objectContaining({ Effect: 'Deny' }),
      allowed('sns', topics),
      allowed('events', rules),
    ]);
  });
});

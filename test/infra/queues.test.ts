import { describe, expect, it } from 'vitest';
import { arnOf, resourceAt, resourcesOf, templatesFor } from './templates.ts';

const QUEUE = 'AWS::SQS::Queue';
const DAY = 86_400;
const { pipeline } = templatesFor();

const queue = (path: string) => resourceAt(pipeline, QUEUE, path);

const sources = [
  { path: 'PipelineIngressQueue', deadLetters: 'PipelineIngressDeadLettersQueue' },
  { path: 'PipelineDeliveryQueue', deadLetters: 'PipelineDeliveryDeadLettersQueue' },
  { path: 'PipelineRetryQueue', deadLetters: 'PipelineDeliveryDeadLettersQueue' },
  { path: 'PipelineOperationQueue', deadLetters: 'PipelineOperationDeadLettersQueue' },
];

const holding = [
  { path: 'PipelineIngressDeadLettersQueue' },
  { path: 'PipelineDeliveryDeadLettersQueue' },
  { path: 'PipelineSchedulesDeadLettersQueue' },
  { path: 'PipelineOperationDeadLettersQueue' },
  { path: 'PipelineUndeliverableQueue' },
];

describe('SQS queues', () => {
  it('are these nine', () => {
    const ids = [...resourcesOf(pipeline, QUEUE).keys()].map((id) => id.slice(0, -8));
    expect(ids.toSorted()).toEqual([...sources, ...holding].map(({ path }) => path).toSorted());
  });

  it.each(sources)(
    '$path moves messages to $deadLetters after a hundred receives',
    ({ path, deadLetters }) => {
      expect(queue(path).Properties['RedrivePolicy']).toEqual({
        deadLetterTargetArn: arnOf(queue(deadLetters).id),
        maxReceiveCount: 100,
      });
    },
  );

  it.each(sources)('$path keeps messages for 4 days', ({ path }) => {
    expect(queue(path).Properties['MessageRetentionPeriod']).toBe(4 * DAY);
  });

  it.each(holding)('$path keeps messages for 14 days', ({ path }) => {
    expect(queue(path).Properties['MessageRetentionPeriod']).toBe(14 * DAY);
  });

  it.each([...sources, ...holding])('$path is encrypted and accepts only TLS', ({ path }) => {
    const { id, Properties } = queue(path);
    expect(Properties['SqsManagedSseEnabled']).toBe(true);
    const policies = [...resourcesOf(pipeline, 'AWS::SQS::QueuePolicy').values()].map(
      ({ Properties: properties }) => properties,
    );
    expect(policies).toContainEqual({
      Queues: [{ Ref: id }],
      PolicyDocument: {
        Version: '2012-10-17',
        Statement: [
          {
            Effect: 'Deny',
            Action: 'sqs:*',
            Principal: { AWS: '*' },
            Resource: arnOf(id),
            Condition: { Bool: { 'aws:SecureTransport': 'false' } },
          },
        ],
      },
    });
  });
});

describe('the visibility timeout', () => {
  const timeoutOf = (path: string, settings = {}) =>
    resourceAt(templatesFor(settings).pipeline, 'AWS::Lambda::Function', path).Properties['Timeout'];
  const visibilityOf = (path: string, settings = {}) =>
    resourceAt(templatesFor(settings).pipeline, QUEUE, path).Properties['VisibilityTimeout'];

  it('of the ingress queue is the timeout of dispatch plus 5 s', () => {
    expect(timeoutOf('PipelineDispatchFunction')).toBe(30);
    expect(visibilityOf('PipelineIngressQueue')).toBe(35);
  });

  it('of the operation queue is the timeout of operate plus 5 s', () => {
    expect(timeoutOf('PipelineOperateFunction')).toBe(40);
    expect(visibilityOf('PipelineOperationQueue')).toBe(45);
  });

  it.each([1, 15, 30])(
    'of both queues of deliver follows from an attempt timeout of %d s',
    (attemptTimeoutSeconds) => {
      const settings = { attemptTimeoutSeconds };
      const timeout = attemptTimeoutSeconds + 15;
      expect(timeoutOf('PipelineDeliverFunction', settings)).toBe(timeout);
      expect(visibilityOf('PipelineDeliveryQueue', settings)).toBe(timeout + 5);
      expect(visibilityOf('PipelineRetryQueue', settings)).toBe(timeout + 5);
    },
  );
});

describe('event source mappings', () => {
  const settings = { dispatchConcurrency: 11, deliverConcurrency: 22, retryConcurrency: 33 };
  const { pipeline: template } = templatesFor(settings);
  const mapping = (path: string) => resourceAt(template, 'AWS::Lambda::EventSourceMapping', path).Properties;

  it.each([
    {
      path: 'PipelineDispatchIngress',
      from: 'PipelineIngressQueue',
      to: 'PipelineDispatchFunction',
      most: 11,
    },
    {
      path: 'PipelineDeliverFirstAttempts',
      from: 'PipelineDeliveryQueue',
      to: 'PipelineDeliverFunction',
      most: 22,
    },
    { path: 'PipelineDeliverRetries', from: 'PipelineRetryQueue', to: 'PipelineDeliverFunction', most: 33 },
  ])(
    '$path has batches of ten, reports failures for each message, and limits concurrency by its setting',
    ({ path, from, to, most }) => {
      expect(mapping(path)).toEqual({
        BatchSize: 10,
        EventSourceArn: arnOf(resourceAt(template, QUEUE, from).id),
        FunctionName: { Ref: resourceAt(template, 'AWS::Lambda::Function', to).id },
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        ScalingConfig: { MaximumConcurrency: most },
      });
    },
  );

  it('gather messages and first attempts for as long as the settings say, but never retries', () => {
    const gathering = templatesFor({ messagesPerBatch: 50, batchWindowSeconds: 3 }).pipeline;
    const sizesOf = (path: string) => {
      const { Properties } = resourceAt(gathering, 'AWS::Lambda::EventSourceMapping', path);
      return [Properties['BatchSize'], Properties['MaximumBatchingWindowInSeconds']];
    };
    expect(sizesOf('PipelineDispatchIngress')).toEqual([50, 3]);
    expect(sizesOf('PipelineDeliverFirstAttempts')).toEqual([50, 3]);
    expect(sizesOf('PipelineDeliverRetries')).toEqual([10, undefined]);
    const hiddenFor = (path: string): unknown =>
      resourceAt(gathering, QUEUE, path).Properties['VisibilityTimeout'];
    expect(hiddenFor('PipelineDeliveryQueue')).toBe(Number(hiddenFor('PipelineRetryQueue')) + 20);
  });

  it('give operate one operation at a time, with five concurrent invocations', () => {
    expect(mapping('PipelineOperateOperations')).toEqual({
      BatchSize: 1,
      EventSourceArn: arnOf(resourceAt(template, QUEUE, 'PipelineOperationQueue').id),
      FunctionName: { Ref: resourceAt(template, 'AWS::Lambda::Function', 'PipelineOperateFunction').id },
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      ScalingConfig: { MaximumConcurrency: 5 },
    });
  });

  it('are four', () => {
    expect(resourcesOf(template, 'AWS::Lambda::EventSourceMapping').size).toBe(4);
  });
});

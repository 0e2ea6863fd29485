import { onTestFinished } from 'vitest';
import { awsStub, type StubAnswer, type StubRequest } from '../aws-stub.ts';

/** A service, for this test, that gives these answers in turn, and the last one for ever. */
export const stubbedService = async (...answers: StubAnswer[]) => {
  const stub = await awsStub((_, index) => answers[Math.min(index, answers.length - 1)] ?? {});
  onTestFinished(stub.close);
  const { endpoint, region, credentials } = stub.config;
  return { options: { endpoint, region, credentials }, requests: stub.requests };
};

export const ok = (body: unknown): StubAnswer => ({ body: JSON.stringify(body) });

/** What was asked for, by the words of the service. */
export const askedOf = (requests: readonly StubRequest[]): unknown[] =>
  requests.map(({ body }) => JSON.parse(body) as unknown);

export const targetsOf = (requests: readonly StubRequest[]): unknown[] =>
  requests.map(({ headers }) => headers['x-amz-target']);

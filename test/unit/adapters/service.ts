import { onTestFinished } from 'vitest';
import { awsStub, type StubAnswer, type StubRequest } from '../../support/aws-stub.ts';

type Answers = Parameters<typeof awsStub>[0];

/** A service on loopback, for the length of a test, that gives this answer to every request. `sent`: the bodies of the requests. */
export const serviceThat = async (answer: StubAnswer | Answers) => {
  const stub = await awsStub(typeof answer === 'function' ? answer : () => answer);
  onTestFinished(stub.close);
  const { endpoint, region, credentials } = stub.config;
  const sent = (): unknown[] => stub.requests.map(({ body }) => JSON.parse(body) as unknown);
  return { ...stub, options: { endpoint, region, credentials }, sent };
};

export const ok = (body: object): StubAnswer => ({ body: JSON.stringify(body) });

/** An error with this name, as every service but S3 sends it. */
export const fault = (status: number, name: string, headers: Record<string, string> = {}) => ({
  status,
  headers: { 'x-amzn-errortype': name, 'content-type': 'application/json', ...headers },
  body: JSON.stringify({ message: 'from the test' }),
});

/** The name of the operation that a client of a JSON service requests. */
export const operationOf = ({ headers }: StubRequest): string =>
  String(headers['x-amz-target']).split('.').at(-1) ?? '';

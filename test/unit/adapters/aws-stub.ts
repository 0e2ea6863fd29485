import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export type StubRequest = { method: string; path: string; headers: IncomingHttpHeaders; body: string };
export type StubAnswer =
  { status?: number; headers?: Record<string, string>; body?: string } | 'hang_up' | 'silence';

export type AwsStub = {
  /** Options for a real SDK client that talks to the stub. */
  config: {
    endpoint: string;
    region: string;
    credentials: { accessKeyId: string; secretAccessKey: string };
    maxAttempts: number;
  };
  requests: StubRequest[];
  close: () => Promise<void>;
};

/** A service on loopback that answers as told: the SDK's own serialisation and error handling are part of the test. */
export const awsStub = async (
  answer: (request: StubRequest, index: number) => StubAnswer,
): Promise<AwsStub> => {
  const requests: StubRequest[] = [];
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { method = '', url = '', headers } = incoming;
      const request = { method, path: url, headers, body: Buffer.concat(chunks).toString() };
      const index = requests.push(request) - 1;
      const answered = answer(request, index);
      if (answered === 'silence') return;
      if (answered === 'hang_up') {
        incoming.socket.destroy();
        return;
      }
      outgoing.writeHead(answered.status ?? 200, answered.headers ?? {});
      outgoing.end(answered.body ?? '{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    config: {
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
      maxAttempts: 1,
    },
    requests,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
};

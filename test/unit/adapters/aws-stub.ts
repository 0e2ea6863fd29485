import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type StubRequest = { method: string; path: string; headers: IncomingHttpHeaders; body: string };
/** `hang_up`: no answer at all; `cut_off`: the connection breaks in the middle of one; `stall`: it stops there. */
export type StubAnswer =
  | { status?: number; headers?: Record<string, string>; body?: string }
  | 'hang_up'
  | 'silence'
  | 'cut_off'
  | 'stall';

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
      give(outgoing, answer(request, index));
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

const give = (outgoing: ServerResponse, answer: StubAnswer): void => {
  switch (answer) {
    case 'silence':
      return;
    case 'hang_up':
      outgoing.destroy();
      return;
    case 'cut_off':
      writeHalf(outgoing, () => outgoing.destroy());
      return;
    case 'stall':
      writeHalf(outgoing);
      return;
    default:
      outgoing.writeHead(answer.status ?? 200, answer.headers ?? {});
      outgoing.end(answer.body ?? '{}');
  }
};

const writeHalf = (outgoing: ServerResponse, then?: () => void): void => {
  outgoing.writeHead(200, { 'content-length': '1000' });
  outgoing.write('{"half', then);
};

import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';

export type LoopbackRequest = {
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
};

export type LoopbackResponse = { status: number | undefined; headers: IncomingHttpHeaders; body: string };

/** Sends a request to 127.0.0.1. fetch cannot send another Host header, or a path with dot segments. */
export const requestLoopback = (
  port: number,
  { method = 'GET', path = '/', headers = {}, body }: LoopbackRequest,
): Promise<LoopbackResponse> =>
  new Promise((resolve, reject) => {
    const asked = httpRequest({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.once('error', reject);
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: answer.statusCode, headers: answer.headers, body: text });
      });
    });
    asked.once('error', reject).end(body);
  });

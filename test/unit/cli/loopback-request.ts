import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';

export type Asked = {
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
};

export type Answered = { status: number | undefined; headers: IncomingHttpHeaders; body: string };

/** fetch would not send a foreign Host, nor a path with dots. */
export const askLoopback = (
  port: number,
  { method = 'GET', path = '/', headers = {}, body }: Asked,
): Promise<Answered> =>
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

import { Client } from 'undici';

export type LoopbackRequest = {
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
};

/** Sends a request to 127.0.0.1. fetch cannot send another Host header, or a path with dot segments. */
export const requestLoopback = async (
  port: number,
  { method = 'GET', path = '/', ...asked }: LoopbackRequest,
) => {
  const client = new Client(`http://127.0.0.1:${port}`);
  try {
    const { statusCode: status, headers, body } = await client.request({ method, path, ...asked });
    return { status, headers, body: await body.text() };
  } finally {
    await client.destroy();
  }
};

export type LoopbackResponse = Awaited<ReturnType<typeof requestLoopback>>;

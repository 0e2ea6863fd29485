import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { verifyWebhook } from 'posthaste/verify';

/** Answers 204 to webhooks that are signed with this secret, and 401 to other requests. */
export function receiver(secret: string): Server {
  return createServer((request, response) => {
    text(request)
      .then((body) => verifyWebhook(body, request.headers, secret))
      .then(
        ({ id }) => response.writeHead(204, { 'x-webhook': id }).end(),
        () => response.writeHead(401).end(),
      );
  });
}

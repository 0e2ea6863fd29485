import express, { type ErrorRequestHandler } from 'express';
import { verifyWebhook, WebhookVerificationError } from 'posthaste/verify';

// whsec_… or whpk_…; both, separated by a blank, during a rotation.
const keys = (process.env['WEBHOOK_KEYS'] ?? '').split(' ');

type OrderPlaced = { queue: string; type: 'order.placed'; data: { id: string; total: number } };

const orders = new Map<string, OrderPlaced['data']>();

const app = express();

// The raw body, so express.json() must not see it first. Bodies have up to 1 MiB of data; the default is 100 KiB.
app.post('/webhooks', express.raw({ type: '*/*', limit: '2mb' }), (request, response) => {
  const { id, body } = verifyWebhook(request.body as Uint8Array, request.headers, keys);
  // A webhook may come twice. A real service keeps the id in the transaction that processes the webhook.
  if (!orders.has(id)) orders.set(id, (JSON.parse(body) as OrderPlaced).data);
  response.sendStatus(204);
});

app.get('/orders', (_request, response) => {
  response.json([...orders.values()]);
});

const answerFault: ErrorRequestHandler = (error, _request, response, _next) => {
  // 401 ends the delivery, and a 500 is retried.
  response.sendStatus(error instanceof WebhookVerificationError ? 401 : 500);
};
app.use(answerFault);

app.listen(Number(process.env['PORT'] ?? 8080));

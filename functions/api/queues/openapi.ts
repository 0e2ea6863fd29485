import * as z from 'zod';
import { importAnswerSchema } from '../subscriptions/import-request.ts';
import { queueMetadataSchema } from './metadata.ts';
import { queuePatchSchema } from './patch.ts';
import { booksAnswerSchema, booksQuery } from './books.ts';
import { queueListQuery, queueListSchema } from './routes.ts';
import { exportQuery, importQuery } from '../subscriptions/transfer-routes.ts';
import { json, located, nothing } from '../openapi/answers.ts';
import { optionalJsonBody, type Operations } from '../openapi/operation.ts';
import { ofQueue } from '../openapi/parameters.ts';

/** Zaqar's name for a JSON patch, the registered one, and JSON plainly: they mean the same here. */
const PATCH_TYPES = [
  'application/json-patch+json',
  'application/openstack-messaging-v2.0-json-patch',
  'application/json',
];

const lines = z.string().meta({ description: 'JSON lines: one subscription each.' });

const exportedLines = {
  description: 'A page of them; `link` leads to the next one, if there is one.',
  headers: z.object({ link: z.string().exactOptional() }),
  content: { 'application/jsonl': { schema: lines } },
};

export const queueOperations: Operations = {
  'GET /v2/queues': {
    id: 'listQueues',
    tag: 'queues',
    summary: 'Lists queues by name',
    query: queueListQuery,
    answers: { 200: json('A page of them.', queueListSchema) },
    refuses: [400],
  },
  'PUT /v2/queues/{queue}': {
    id: 'putQueue',
    tag: 'queues',
    summary: 'Creates a queue, or replaces its metadata',
    path: ofQueue,
    body: optionalJsonBody(queueMetadataSchema),
    answers: {
      201: located(nothing('It is new.')),
      204: located(nothing('It was there; its metadata is replaced.')),
    },
    refuses: [400, 404, 409, 413],
  },
  'GET /v2/queues/{queue}': {
    id: 'getQueue',
    tag: 'queues',
    summary: 'The metadata of a queue',
    path: ofQueue,
    answers: { 200: json('The metadata itself.', queueMetadataSchema) },
    refuses: [400, 404],
  },
  'PATCH /v2/queues/{queue}': {
    id: 'patchQueue',
    tag: 'queues',
    summary: 'Changes the metadata of a queue by a JSON patch (RFC 6902)',
    path: ofQueue,
    body: { schema: queuePatchSchema, mediaTypes: PATCH_TYPES, required: true },
    answers: { 200: json('The metadata after the patch.', queueMetadataSchema) },
    refuses: [400, 404, 409, 413],
  },
  'DELETE /v2/queues/{queue}': {
    id: 'deleteQueue',
    tag: 'queues',
    summary: 'Deletes a queue with its subscriptions',
    path: ofQueue,
    answers: { 204: nothing('There is no such queue now.') },
    refuses: [400, 404, 409],
  },
  'GET /v2/queues/{queue}/export': {
    id: 'exportSubscriptions',
    tag: 'queues',
    summary: 'The subscriptions of a queue as JSON lines',
    description: 'Headers that hold credentials are redacted.',
    path: ofQueue,
    query: exportQuery,
    answers: { 200: exportedLines },
    refuses: [400, 404],
  },
  'POST /v2/queues/{queue}/export/credentials': {
    id: 'exportCredentials',
    tag: 'queues',
    summary: 'The subscriptions of a queue as JSON lines, with their credentials',
    description: 'A path of its own, to be allowed or denied by itself. It is on the audit trail.',
    path: ofQueue,
    query: exportQuery,
    answers: { 200: exportedLines },
    refuses: [400, 404],
  },
  'POST /v2/queues/{queue}/import': {
    id: 'importSubscriptions',
    tag: 'queues',
    summary: 'Subscribes by JSON lines, as an export writes them',
    path: ofQueue,
    query: importQuery,
    body: { schema: lines, mediaTypes: ['application/jsonl'], required: false },
    answers: { 200: json('What became of the lines.', importAnswerSchema) },
    refuses: [400, 404, 409, 413],
  },
  'GET /v2/queues/{queue}/books': {
    id: 'readBooks',
    tag: 'queues',
    summary: 'What was accepted in a window, and what came of it',
    description: 'Counted from the records. A long window comes in pages: follow `links`, and add them up.',
    path: ofQueue,
    query: booksQuery,
    answers: { 200: json('The books of the window, or of a part of it.', booksAnswerSchema) },
    refuses: [400, 404],
  },
};

import { recoveryViewSchema } from '../../../shared/wire/views/recovery.ts';
import { pageQuery } from '../paging.ts';
import { recoveryPageSchema, recoveryRequestSchema } from './routes.ts';
import { json, leadingTo, located, nothing } from '../openapi/answers.ts';
import { jsonBody, type Operations } from '../openapi/operation.ts';
import { ofQueue, ofRecovery } from '../openapi/parameters.ts';

export const recoveryOperations: Operations = {
  'POST /v2/queues/{queue}/recoveries': {
    id: 'startRecovery',
    tag: 'recoveries',
    summary: 'Replays each failed delivery of a window once',
    path: ofQueue,
    body: jsonBody(recoveryRequestSchema),
    answers: {
      202: leadingTo(
        ['getRecovery', 'stopRecovery'],
        { recovery: '$response.body#/id' },
        located(json('The recovery, which goes on by itself.', recoveryViewSchema)),
      ),
    },
    refuses: [400, 404, 413],
  },
  'GET /v2/queues/{queue}/recoveries': {
    id: 'listRecoveries',
    tag: 'recoveries',
    summary: 'Lists recoveries, newest first',
    path: ofQueue,
    query: pageQuery,
    answers: { 200: json('A page of them.', recoveryPageSchema) },
    refuses: [400, 404],
  },
  'GET /v2/queues/{queue}/recoveries/{recovery}': {
    id: 'getRecovery',
    tag: 'recoveries',
    summary: 'How far a recovery is',
    path: ofRecovery,
    answers: { 200: json('The recovery.', recoveryViewSchema) },
    refuses: [400, 404],
  },
  'DELETE /v2/queues/{queue}/recoveries/{recovery}': {
    id: 'stopRecovery',
    tag: 'recoveries',
    summary: 'Stops a recovery; what it has brought back stays so',
    path: ofRecovery,
    answers: { 204: nothing('It goes no further.') },
    refuses: [400, 404, 409],
  },
};

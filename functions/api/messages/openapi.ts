import { deliveryDetailSchema } from '../../../shared/wire/views/delivery-detail.ts';
import { deliveryViewSchema } from '../../../shared/wire/views/delivery.ts';
import { messageViewSchema } from '../../../shared/wire/views/message.ts';
import { postedMessagesSchema } from './request.ts';
import { pageQuery } from '../paging.ts';
import { deliveryListSchema, undeliveredListSchema, undeliveredQuery } from '../deliveries/routes.ts';
import { messageListQuery, messageListSchema, publishedSchema } from './routes.ts';
import { json, leadingTo, nothing } from '../openapi/answers.ts';
import { jsonBody, type Operations } from '../openapi/operation.ts';
import { ofDelivery, ofMessage, ofQueue } from '../openapi/parameters.ts';

/** What can be asked of a delivery that one has the ids of. */
const OF_ONE = ['getDelivery', 'retryDelivery', 'cancelDelivery'];

export const messageOperations: Operations = {
  'POST /v2/queues/{queue}/messages': {
    id: 'postMessages',
    tag: 'messages',
    summary: 'Publishes messages',
    description: 'All of them or none. The queue is created if there is none.',
    path: ofQueue,
    body: jsonBody(postedMessagesSchema),
    answers: {
      201: leadingTo(
        ['getMessage', 'eraseBody', 'listDeliveriesOfMessage'],
        { message: '$response.body#/ids/0' },
        json('They are in the ingress queue.', publishedSchema),
      ),
    },
    refuses: [400, 404, 409, 413],
  },
  'GET /v2/queues/{queue}/messages': {
    id: 'listMessages',
    tag: 'messages',
    summary: 'The messages that a queue accepted, newest first, and how their deliveries stand',
    path: ofQueue,
    query: messageListQuery,
    answers: {
      200: leadingTo(
        ['getMessage', 'eraseBody', 'listDeliveriesOfMessage'],
        { message: '$response.body#/messages/0/id' },
        json('A page of them.', messageListSchema),
      ),
    },
    refuses: [400, 404],
  },
  'GET /v2/queues/{queue}/messages/{message}': {
    id: 'getMessage',
    tag: 'messages',
    summary: 'A message, how its deliveries stand, and its data while that is kept',
    path: ofMessage,
    answers: { 200: json('The message.', messageViewSchema) },
    refuses: [400, 404],
  },
  'DELETE /v2/queues/{queue}/messages/{message}/body': {
    id: 'eraseBody',
    tag: 'messages',
    summary: 'Erases the data of a message before its time',
    path: ofMessage,
    answers: { 204: nothing('It is not kept any more.') },
    refuses: [400, 404],
  },
  'GET /v2/queues/{queue}/messages/{message}/deliveries': {
    id: 'listDeliveriesOfMessage',
    tag: 'deliveries',
    summary: 'What became of a message, by subscription',
    path: ofMessage,
    query: pageQuery,
    answers: {
      200: leadingTo(
        OF_ONE,
        { message: '$request.path.message', subscription: '$response.body#/deliveries/0/subscriptionId' },
        json('A page of its deliveries.', deliveryListSchema),
      ),
    },
    refuses: [400, 404],
  },
  'GET /v2/queues/{queue}/messages/{message}/deliveries/{subscription}': {
    id: 'getDelivery',
    tag: 'deliveries',
    summary: 'One delivery with all its attempts, and the planned ones',
    path: ofDelivery,
    answers: { 200: json('The delivery.', deliveryDetailSchema) },
    refuses: [400, 404],
  },
  'POST /v2/queues/{queue}/messages/{message}/deliveries/{subscription}/retry': {
    id: 'retryDelivery',
    tag: 'deliveries',
    summary: 'Makes the next attempt now, or opens another round',
    path: ofDelivery,
    answers: { 202: json('The delivery.', deliveryViewSchema) },
    refuses: [400, 404, 409],
  },
  'POST /v2/queues/{queue}/messages/{message}/deliveries/{subscription}/cancel': {
    id: 'cancelDelivery',
    tag: 'deliveries',
    summary: 'Makes no further attempt',
    path: ofDelivery,
    answers: { 200: json('The delivery.', deliveryViewSchema) },
    refuses: [400, 404, 409],
  },
  'GET /v2/queues/{queue}/deliveries': {
    id: 'listDeliveries',
    tag: 'deliveries',
    summary: 'The deliveries of a queue that were not delivered, newest first',
    path: ofQueue,
    query: undeliveredQuery,
    answers: {
      200: leadingTo(
        OF_ONE,
        {
          message: '$response.body#/deliveries/0/messageId',
          subscription: '$response.body#/deliveries/0/subscriptionId',
        },
        json('A page of them.', undeliveredListSchema),
      ),
    },
    refuses: [400, 404],
  },
};

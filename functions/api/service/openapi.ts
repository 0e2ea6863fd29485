import * as z from 'zod';
import { healthSchema, homeSchema } from './routes.ts';
import { gatewayErrorSchema, json, nothing } from '../openapi/answers.ts';
import type { Operations } from '../openapi/operation.ts';

export const serviceOperations: Operations = {
  'GET /v2': {
    id: 'home',
    tag: 'service',
    summary: 'What there is: a template for each path, and its methods',
    answers: { 200: json('All resources.', homeSchema) },
    refuses: [],
  },
  'GET /v2/ping': {
    id: 'ping',
    tag: 'service',
    summary: 'Whether anybody answers',
    answers: { 204: nothing('Yes.') },
    refuses: [],
    open: true,
  },
  'GET /v2/health': {
    id: 'health',
    tag: 'service',
    summary: 'Whether the tables and SQS queues can be reached, and what lies in the queues',
    answers: {
      200: json('All is well.', healthSchema),
      503: json('Something cannot be reached.', z.union([healthSchema, gatewayErrorSchema])),
    },
    refuses: [],
  },
  'GET /v2/openapi.json': {
    id: 'describe',
    tag: 'service',
    summary: 'This document',
    answers: { 200: json('OpenAPI 3.1.', z.looseObject({ openapi: z.string() })) },
    refuses: [],
  },
};

import * as z from 'zod';
import {
  EVENT_TYPE_NAME_RULE,
  type EventType,
  isEventTypeName,
  isVisibleTo,
  type TypeViewer,
} from '../../../shared/domain/event-type/event-type.ts';
import type { Page } from '../../../shared/ports/page.ts';
import {
  eventTypeView,
  type EventTypeView,
  eventTypeViewSchema,
} from '../../../shared/wire/views/event-type.ts';
import { toWebhooksDocument } from '../../../shared/wire/views/webhooks-document.ts';
import { changedNames } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { invalidFields, notFound, RefusedRequest } from '../errors.ts';
import { existingQueue } from '../existing.ts';
import { flag } from '../fields.ts';
import { countAnswerBytes, listing, MAX_ANSWER_BYTES, pageFields, pageWithinAnswerSize } from '../paging.ts';
import { EVENT_TYPES } from '../paths.ts';
import {
  type AddRoute,
  type Answer,
  json,
  jsonAnswer,
  noBody,
  optionalJsonBody,
  type Tenant,
  withLocation,
} from '../route.ts';
import { checkSchemaAndExample, eventTypeRequestSchema } from './request.ts';

const EVENT_TYPE = `${EVENT_TYPES}/{type}` as const;

const typeList = listing('event_types', eventTypeViewSchema);

const listQuery = z.strictObject({
  ...pageFields,
  detailed: flag.default(true).meta({
    description: 'Whether to include the schemas and examples of the types.',
    override: { type: 'boolean', default: true },
  }),
});

const shownType = json('The type.', eventTypeViewSchema);
const typePage = json('A page of types.', typeList.schema);

/** The catalogue of event types (docs/event-types.md). */
export function addEventTypeRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { eventTypes, clock, audit, checkSchema } = dependencies;
  const { validateEvent } = dependencies.eventChecks;

  addRoute({
    key: `GET ${EVENT_TYPES}`,
    id: 'listEventTypes',
    summary: 'Lists event types by name',
    query: listQuery,
    answers: { 200: typePage },
    refuses: [400],
    handle: ({ path, query }) => listTypes(path, query),
  });

  addRoute({
    key: `PUT ${EVENT_TYPE}`,
    id: 'putEventType',
    summary: 'Creates an event type, or replaces it as a whole',
    body: optionalJsonBody(eventTypeRequestSchema),
    answers: {
      200: withLocation(json('The type existed and is replaced.', eventTypeViewSchema)),
      201: withLocation(json('The type is created.', eventTypeViewSchema)),
    },
    // 404: the path has a control character.
    refuses: [400, 404, 413],
    handle: async ({ params: { type: name }, body: fields, caller }) => {
      if (!isEventTypeName(name))
        throw invalidFields([{ field: 'type', message: `must be ${EVENT_TYPE_NAME_RULE}` }]);
      await checkSchemaAndExample({ checkSchema, validateEvent }, fields);
      const now = clock.now();
      const type: EventType = { ...fields, name, createdAt: now, changedAt: now };
      const result = await eventTypes.put(type);
      const headers = { location: `${EVENT_TYPES}/${name}` };
      if (result.kind === 'created') {
        audit(caller, { change: 'event_type_created', eventType: name });
        return jsonAnswer(eventTypeView(type), 201, headers);
      }
      const after = { ...type, createdAt: result.before.createdAt };
      const changed = changedNames(result.before, { ...after, changedAt: result.before.changedAt });
      audit(caller, { change: 'event_type_replaced', eventType: name, changed });
      return jsonAnswer(eventTypeView(after), 200, headers);
    },
  });

  addRoute({
    key: `GET ${EVENT_TYPE}`,
    id: 'getEventType',
    summary: 'Shows an event type',
    answers: { 200: shownType },
    refuses: [404],
    handle: async ({ params }) => jsonAnswer(eventTypeView(await existingType(params.type))),
  });

  addRoute({
    key: `DELETE ${EVENT_TYPE}`,
    id: 'deleteEventType',
    summary: 'Deletes an event type',
    answers: { 204: noBody('The type is deleted, or did not exist.') },
    refuses: [404],
    handle: async ({ params: { type: name }, caller }) => {
      if (!isEventTypeName(name)) throw notFound('such event type');
      const before = await eventTypes.delete(name);
      if (before !== undefined) audit(caller, { change: 'event_type_deleted', eventType: name });
      return { status: 204 };
    },
  });

  addRoute({
    key: 'GET /v2/queues/{queue}/event-types',
    id: 'listEventTypesOfQueue',
    summary: 'Lists the event types that a queue sees, by name',
    description: 'A page may be short; follow its link.',
    query: listQuery,
    answers: { 200: typePage },
    handle: async ({ path, params, query, tenant }) => {
      const queue = await existingQueue(dependencies, params.queue);
      return listTypes(path, query, toViewer(queue, tenant));
    },
  });

  addRoute({
    key: 'GET /v2/queues/{queue}/event-types/{type}',
    id: 'getEventTypeOfQueue',
    summary: 'Shows an event type that a queue sees',
    answers: { 200: shownType },
    handle: async ({ params, tenant }) => {
      const queue = await existingQueue(dependencies, params.queue);
      const viewer = toViewer(queue, tenant);
      return jsonAnswer(viewFor(viewer)(await existingType(params.type, viewer)));
    },
  });

  addRoute({
    key: 'GET /v2/webhooks.json',
    id: 'describeWebhooks',
    summary: 'Shows all event types as the webhooks of an OpenAPI 3.1 document',
    answers: { 200: json('The document.', z.looseObject({ openapi: z.string() })) },
    refuses: [413],
    handle: async () => {
      const document = toWebhooksDocument(await readCatalogue());
      if (countAnswerBytes(document) > MAX_ANSWER_BYTES) throw catalogueTooLarge();
      return jsonAnswer(document);
    },
  });

  async function listTypes(
    path: string,
    { detailed, ...request }: z.output<typeof listQuery>,
    viewer?: TypeViewer,
  ): Promise<Answer> {
    const view = viewFor(viewer);
    const page = await pageWithinAnswerSize(
      request,
      (asked) => eventTypes.list(asked, viewer),
      detailed ? view : ({ schema: _schema, example: _example, ...type }) => view(type),
    );
    return typeList.answer(path, page, { limit: request.limit, ...(!detailed && { detailed: 'false' }) });
  }

  /** @throws RefusedRequest `not_found`, also if the viewer does not see it */
  async function existingType(name: string, viewer?: TypeViewer): Promise<EventType> {
    const found = isEventTypeName(name) ? await eventTypes.find(name) : undefined;
    if (found === undefined || !isVisibleTo(found, viewer)) throw notFound('such event type');
    return found;
  }

  /** @throws RefusedRequest `too_large` as soon as the types alone exceed an answer */
  async function readCatalogue(): Promise<EventType[]> {
    const types: EventType[] = [];
    let bytes = 0;
    let marker: string | undefined;
    do {
      const page: Page<EventType> = await eventTypes.list({ limit: TYPES_PER_READ, marker });
      types.push(...page.items);
      bytes += countAnswerBytes(page.items);
      if (bytes > MAX_ANSWER_BYTES) throw catalogueTooLarge();
      ({ marker } = page);
    } while (marker !== undefined);
    return types;
  }
}

function toViewer(queue: string, tenant: Tenant | undefined): TypeViewer {
  return { queue, ...(tenant?.eventTypes && { names: tenant.eventTypes }) };
}

/** A queue does not see which other queues see a type: they can be those of other tenants. */
function viewFor(viewer: TypeViewer): (type: EventType) => EventTypeView {
  return viewer === undefined ? eventTypeView : ({ queues: _queues, ...type }) => eventTypeView(type);
}

const TYPES_PER_READ = 1_000;

function catalogueTooLarge(): RefusedRequest {
  return new RefusedRequest(
    'too_large',
    `the document is over ${MAX_ANSWER_BYTES} bytes: posthaste event-types export writes it from the pages of the list`,
  );
}

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import * as z from 'zod';

const content = z.record(z.string(), z.unknown());

const answerSchema = z.looseObject({
  headers: z.record(z.string(), z.looseObject({ required: z.boolean().optional() })).default({}),
  content: content.optional(),
});

const operationSchema = z.looseObject({
  requestBody: z.looseObject({ content }).optional(),
  responses: z.record(z.string(), z.looseObject({ $ref: z.string().optional() })),
});

const documentSchema = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
  components: z.looseObject({ responses: content }),
});

type Exchange = {
  method: string;
  /** As requested, including the query. */
  path: string;
  /** The JSON request body, parsed. */
  sent?: unknown;
  response: Response;
  /** The response body. */
  text: string;
};

/** A position in the document, as the steps of a JSON pointer. */
type Place = readonly string[];

/** Checks exchanges against an OpenAPI document, and names everything in them that it does not describe. */
export const apiDescription = (document: unknown): ((exchange: Exchange) => string[]) => {
  const { paths, components } = documentSchema.parse(document);
  const faultsAt = validatorOf(document);
  const routes = Object.entries(paths).map(([template, operations]) => ({
    template,
    operations,
    pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }));

  const answerAt = (place: Place, status: string, { $ref }: { $ref?: string | undefined }) => {
    const [, name] = /^#\/components\/responses\/(\w+)$/.exec($ref ?? '') ?? [];
    return name === undefined
      ? { place: [...place, 'responses', status] }
      : { place: ['components', 'responses', name], shared: components.responses[name] };
  };

  const answerFaults = (place: Place, answer: unknown, { response, text }: Exchange): string[] => {
    const { headers, content: described } = answerSchema.parse(answer);
    const missing = Object.entries(headers)
      .filter(([header, { required }]) => required === true && !response.headers.has(header))
      .map(([header]) => `the header ${header} is missing`);
    return [...missing, ...bodyFaults(place, described, { response, text })];
  };

  const bodyFaults = (
    place: Place,
    described: z.infer<typeof content> | undefined,
    { response, text }: Pick<Exchange, 'response' | 'text'>,
  ): string[] => {
    if (described === undefined) return text === '' ? [] : [`an unexpected body: ${text}`];
    const [mediaType = ''] = response.headers.get('content-type')?.split(';') ?? [];
    if (described[mediaType] === undefined) return [`content type "${mediaType}" is not described`];
    const value: unknown = mediaType.endsWith('json') ? JSON.parse(text) : text;
    return faultsAt([...place, 'content', mediaType, 'schema'], value);
  };

  /** Faults of a request body that was accepted. */
  const requestFaults = (
    place: Place,
    { requestBody }: z.infer<typeof operationSchema>,
    sent: unknown,
  ): string[] =>
    Object.keys(requestBody?.content ?? {})
      .filter((mediaType) => mediaType.endsWith('json'))
      .flatMap((mediaType) => faultsAt([...place, 'requestBody', 'content', mediaType, 'schema'], sent));

  /** For an undescribed path or method, only the refusal is described. */
  const refusalFaults = (expected: number, { response, text }: Exchange): string[] =>
    response.status === expected
      ? faultsAt(['components', 'schemas', 'Error'], JSON.parse(text))
      : [`${response.status} for what is not described`];

  return (exchange) => {
    const { method, path, sent, response } = exchange;
    const [asked = ''] = path.split('?');
    const route = routes.find(({ pattern }) => pattern.test(asked));
    if (route === undefined) return refusalFaults(404, exchange);
    const name = method.toLowerCase();
    const operation = route.operations[name];
    if (operation === undefined) return refusalFaults(405, exchange);
    const status = String(response.status);
    const answer = operation.responses[status];
    if (answer === undefined) return [`status ${status} is not described`];
    const at = ['paths', route.template, name];
    const { place, shared = answer } = answerAt(at, status, answer);
    return [
      ...answerFaults(place, shared, exchange),
      ...(response.ok && sent !== undefined ? requestFaults(at, operation, sent) : []),
    ];
  };
};

const validatorOf = (document: unknown): ((place: Place, value: unknown) => string[]) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ ...z.looseObject({}).parse(document), $id: 'openapi' });
  const validators = new Map<string, ValidateFunction>();
  return (place, value) => {
    const reference = `openapi#/${place.map(escaped).join('/')}`;
    const validate = validators.get(reference) ?? ajv.compile({ $ref: reference });
    validators.set(reference, validate);
    return validate(value) ? [] : [`${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)}`];
  };
};

/** A step of a JSON pointer in a URL fragment (RFC 6901 §6). */
const escaped = (step: string): string =>
  encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'));

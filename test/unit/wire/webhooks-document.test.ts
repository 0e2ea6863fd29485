import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { standardBody } from '../../../shared/domain/message/payload.ts';
import { toWebhooksDocument } from '../../../shared/wire/views/webhooks-document.ts';
import { aMessage, anEventType } from '../../support/builders.ts';

/** Its references point to its own parts, by names that mean something else where they are not keywords. */
const TREE = anEventType({
  name: 'tree.grown',
  description: 'A tree.',
  group: 'trees',
  deprecated: true,
  queues: ['secret-tenant'],
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      $ref: { const: '#/of/the/data' },
      label: { $ref: '#/$defs/label' },
      kind: { const: { $ref: '#' } },
      trees: { type: 'array', items: { $ref: '#' } },
    },
    required: ['label'],
    $defs: { label: { type: 'string', maxLength: 3 } },
  },
  example: { label: 'oak', trees: [] },
});

const document = toWebhooksDocument([anEventType({ name: 'order.created' }), TREE]);

const isValidBody = (type: string, data: unknown): boolean => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'document');
  const $ref = `document#/webhooks/${type}/post/requestBody/content/application~1json/schema`;
  return ajv.validate({ $ref }, JSON.parse(standardBody(aMessage({ type, data: JSON.stringify(data) }))));
};

describe('the document of webhooks', () => {
  it('is OpenAPI 3.1', async () => {
    // The validator takes a property of the name `$ref` for a reference.
    const schema = { ...TREE.schema, properties: { label: { $ref: '#/$defs/label' } } };
    expect(await new Validator().validate(toWebhooksDocument([{ ...TREE, schema }]))).toEqual({
      valid: true,
    });
    expect(document.openapi).toBe('3.1.1');
  });

  it('has a webhook for each type, with what it says for people, and no names of queues', () => {
    expect(Object.keys(document.webhooks)).toEqual(['order.created', 'tree.grown']);
    expect(document.webhooks['tree.grown']?.post).toMatchObject({
      operationId: 'tree.grown',
      description: 'A tree.',
      tags: ['trees'],
      deprecated: true,
    });
    expect(document.webhooks['order.created']?.post).not.toHaveProperty('deprecated');
    expect(JSON.stringify(document)).not.toContain('secret-tenant');
  });

  it('describes the body that subscribers get, with the example of its type', () => {
    expect(isValidBody('order.created', { total: 1 })).toBe(true);
    expect(isValidBody('tree.grown', TREE.example)).toBe(true);
    const content = document.webhooks['tree.grown']?.post.requestBody.content['application/json'];
    expect(content?.example).toMatchObject({ type: 'tree.grown', data: TREE.example });
  });

  it.each([
    ['what it requires', {}, false],
    ['a part by reference', { label: 'birch' }, false],
    ['the whole by reference', { label: 'oak', trees: [{ label: 'birch' }] }, false],
    ['the same, where it fits', { label: 'oak', trees: [{ label: 'ash' }] }, true],
    ['data that looks like a reference', { label: 'oak', $ref: '#/of/the/data', kind: { $ref: '#' } }, true],
  ])('keeps the meaning of a schema: %s', (_what, data, isValid) => {
    expect(isValidBody('tree.grown', data)).toBe(isValid);
  });
});

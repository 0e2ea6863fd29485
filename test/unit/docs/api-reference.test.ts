import { fileURLToPath } from 'node:url';
import openapiTypes, { astToString } from 'openapi-typescript';
import * as z from 'zod';
import { describe, expect, it } from 'vitest';
import { apiReferenceFile, apiReferencePage } from '../../support/api-reference-page.ts';
import { apiUnderTest } from '../api/api-under-test.ts';

describe('what is derived from the OpenAPI document; npm run docs:api writes it', () => {
  it('lists the routes in docs/api-reference.md', async () => {
    const { body } = await apiUnderTest().call('GET', '/v2/openapi.json');
    await expect(await apiReferencePage(body)).toMatchFileSnapshot(fileURLToPath(apiReferenceFile));
  });

  it('types the requests of api-client/', async () => {
    const { body } = await apiUnderTest().call('GET', '/v2/openapi.json');
    const types = await openapiTypes(JSON.stringify(answersOnly(body)));
    await expect(withoutNoise(astToString(types))).toMatchFileSnapshot(
      fileURLToPath(new URL('../../../api-client/openapi.d.ts', import.meta.url)),
    );
  });
});

const documentSchema = z.looseObject({
  paths: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ responses: z.record(z.string(), z.unknown()) })),
  ),
  components: z.looseObject({}),
});

/** A document without the refusals: api-client/ reads them by their code. */
function answersOnly(document: unknown) {
  const { components, ...described } = documentSchema.parse(document);
  for (const operation of Object.values(described.paths).flatMap((methods) => Object.values(methods)))
    operation.responses = Object.fromEntries(
      Object.entries(operation.responses).filter(([status]) => status.startsWith('2')),
    );
  return { ...described, components: { ...components, responses: {} } };
}

/** Types without the members that say that there is none, and without headers: api-client/ reads those by name. */
function withoutNoise(types: string): string {
  const absent = /^ +(?:get|put|post|delete|options|head|patch|trace|header|path|cookie)\?: never;\n/gm;
  const ofPaths = /^ {8}parameters: \{\n {12}query\?: never;\n {8}\};\n/gm;
  const headers = /^ {16}headers: \{\n[^}]*\};\n/gm;
  return [absent, ofPaths, headers].reduce((text, noise) => text.replaceAll(noise, ''), types);
}

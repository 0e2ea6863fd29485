import { fileURLToPath } from 'node:url';
import openapiTypes, { astToString } from 'openapi-typescript';
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
    const types = await openapiTypes(JSON.stringify(body));
    await expect(astToString(types)).toMatchFileSnapshot(
      fileURLToPath(new URL('../../../api-client/openapi.d.ts', import.meta.url)),
    );
  });
});

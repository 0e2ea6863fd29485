import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { apiReferenceFile, apiReferencePage } from '../../support/api-reference-page.ts';
import { apiUnderTest } from '../api/api-under-test.ts';

describe('docs/api-reference.md', () => {
  it('lists the routes of the OpenAPI document; npm run docs:api writes it', async () => {
    const { body } = await apiUnderTest().call('GET', '/v2/openapi.json');
    await expect(await apiReferencePage(body)).toMatchFileSnapshot(fileURLToPath(apiReferenceFile));
  });
});

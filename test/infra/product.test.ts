import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { product, productOf, userAgentOf } from '../../infra/product.ts';
import { resourceAt, templatesFor } from './templates.ts';

const userAgent = (content: Record<string, unknown>): string =>
  userAgentOf(productOf({ version: '1.2.3', ...content }));

describe('the user agent of requests to subscribers', () => {
  const named = 'Posthaste/1.2.3 (+https://code.example/tools/posthaste)';

  it.each([
    { repository: 'https://code.example/tools/posthaste' },
    { repository: { type: 'git', url: 'git+https://code.example/tools/posthaste.git' } },
    { homepage: 'https://code.example/tools/posthaste' },
    { repository: 'git@code.example:tools/posthaste.git', homepage: 'https://code.example/tools/posthaste' },
  ])('contains the version and the page that package.json names: %j', (content) => {
    expect(userAgent(content)).toBe(named);
  });

  it.each(['github:tools/posthaste', 'tools/posthaste'])('expands the short form %s', (repository) => {
    expect(userAgent({ repository })).toBe('Posthaste/1.2.3 (+https://github.com/tools/posthaste)');
  });

  it.each([
    {},
    { repository: 'git@code.example:tools/posthaste.git' },
    { homepage: 'https://a.example/(b)' },
  ])('contains only the version if there is no usable page: %j', (content) => {
    expect(userAgent(content)).toBe('Posthaste/1.2.3');
  });

  it('is passed to deliver', () => {
    expect(product.version).toBe(packageJson.version);
    expect(
      resourceAt(templatesFor().pipeline, 'AWS::Lambda::Function', 'PipelineDeliverFunction').Properties,
    ).toMatchObject({ Environment: { Variables: { USER_AGENT: userAgentOf(product) } } });
  });
});

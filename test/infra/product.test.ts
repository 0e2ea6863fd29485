import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { product, productOf, userAgentOf } from '../../infra/product.ts';
import { parseSettings } from '../../infra/settings.ts';
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

  it.each([
    ['https://hooks.example.com/about', 'Posthaste/1.2.3 (+https://hooks.example.com/about)'],
    ['hooks@example.com', 'Posthaste/1.2.3 (hooks@example.com)'],
  ])('contains the contact %s in place of the page', (contact, expected) => {
    const productWithPage = productOf({ version: '1.2.3', homepage: 'https://code.example/posthaste' });
    expect(userAgentOf(productWithPage, contact)).toBe(expected);
  });

  it.each([
    'hooks.example.com',
    'https://hooks.example.com/(us)',
    'us @example.com',
    'https://hooks.example.com\r\nx: y',
    `https://hooks.example.com/${'x'.repeat(200)}`,
  ])('refuses the contact %j', (userAgentContact) => {
    expect(() => parseSettings({ userAgentContact })).toThrow('userAgentContact');
  });

  it.each(['PipelineDeliverFunction', 'PipelineApiFunction'])('with its contact is passed to %s', (id) => {
    const { pipeline } = templatesFor({ userAgentContact: 'hooks@example.com' });
    expect(resourceAt(pipeline, 'AWS::Lambda::Function', id).Properties).toMatchObject({
      Environment: { Variables: { USER_AGENT: userAgentOf(product, 'hooks@example.com') } },
    });
  });

  it('is passed to deliver', () => {
    expect(product.version).toBe(packageJson.version);
    expect(
      resourceAt(templatesFor().pipeline, 'AWS::Lambda::Function', 'PipelineDeliverFunction').Properties,
    ).toMatchObject({ Environment: { Variables: { USER_AGENT: userAgentOf(product) } } });
  });
});

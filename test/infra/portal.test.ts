import { describe, expect, it } from 'vitest';
import { checkedVariants } from '../../infra/checked-variants.ts';
import { parseSettings } from '../../infra/settings.ts';
import { environmentAt, resourceAt, resourcesOf, templatesFor } from './templates.ts';

const { pipeline, state } = templatesFor(checkedVariants['portal']);

const ROLE = resourceAt(pipeline, 'AWS::IAM::Role', 'PipelinePortalSessionRole').id;

const statementsOf = (policy: string): Record<string, unknown>[] => {
  const { PolicyDocument } = resourceAt(pipeline, 'AWS::IAM::Policy', policy).Properties as {
    PolicyDocument: { Statement: Record<string, unknown>[] };
  };
  return PolicyDocument.Statement;
};

describe('a deployment with a portal', () => {
  it('has a function that may only write its log and assume the role of sessions', () => {
    const actions = statementsOf('PipelinePortalRoleDefaultPolicy').map(({ Action }) => Action);
    expect(actions).toEqual([['logs:CreateLogStream', 'logs:PutLogEvents'], 'sts:AssumeRole']);
    const [, assume] = statementsOf('PipelinePortalRoleDefaultPolicy');
    expect(assume?.['Resource']).toEqual({ 'Fn::GetAtt': [ROLE, 'Arn'] });
  });

  it('has a role of sessions that only this function assumes, and that reaches only the gate', () => {
    const portal = resourceAt(pipeline, 'AWS::IAM::Role', 'PipelinePortalRole').id;
    expect(resourceAt(pipeline, 'AWS::IAM::Role', 'PipelinePortalSessionRole').Properties).toMatchObject({
      AssumeRolePolicyDocument: {
        Statement: [
          {
            Action: 'sts:AssumeRole',
            Effect: 'Allow',
            Principal: { AWS: { 'Fn::GetAtt': [portal, 'Arn'] } },
          },
        ],
      },
    });
    const [statement, ...others] = statementsOf('PipelinePortalSessionRoleDefaultPolicy');
    expect(others).toEqual([]);
    expect(statement).toMatchObject({ Action: 'execute-api:Invoke', Effect: 'Allow' });
    const resources = statement?.['Resource'] as unknown[];
    expect(resources.map((one) => JSON.stringify(one).replace(/.*\$default/, ''))).toEqual(
      ['DELETE', 'GET', 'PATCH', 'POST'].map((method) => `/${method}/v2/portal/queues/*"]]}`),
    );
  });

  it('tells the function the stage, and the API the role, but no table', () => {
    const environment = environmentAt(pipeline, 'PipelinePortalFunction');
    expect(JSON.stringify(environment['API_ARN'])).toMatch(/\/\$default"\]\]\}$/);
    expect(environment['PORTAL_FRAME_ANCESTORS']).toBe('["https://app.example.com"]');
    expect(Object.keys(environment)).not.toContain('SUBSCRIPTIONS_TABLE');
    expect(environmentAt(pipeline, 'PipelineApiFunction')).toMatchObject({
      PORTAL_ROLE_ARN: { 'Fn::GetAtt': [ROLE, 'Arn'] },
      PORTAL_HOSTS: '["*.example.com"]',
    });
  });

  it('has an output with its address, and nothing more in the stack with the data', () => {
    expect(pipeline.findOutputs('PortalUrl')).toHaveProperty('PortalUrl');
    expect(Object.keys(state.toJSON())).toEqual(Object.keys(templatesFor().state.toJSON()));
    expect(resourcesOf(state, 'AWS::DynamoDB::GlobalTable').size).toBe(2);
  });
});

describe('the settings of the portal', () => {
  it.each([
    { portalTitle: 'Acme' },
    { portalFrameAncestors: ['https://app.example.com'] },
    { portalMaxEndpoints: 3 },
  ])('are refused without it: %j', (given) => {
    const [key = ''] = Object.keys(given);
    expect(() => parseSettings(given)).toThrow(`${key} has an effect only with portal=true`);
  });

  it.each([
    { portalAccent: 'red' },
    { portalAccent: '#fff; } x' },
    { portalTitle: '' },
    { portalFrameAncestors: ["'self'"] },
    { portalFrameAncestors: ['https://a.example; script-src *'] },
    { portalFrameAncestors: ['*'] },
    { portalFrameAncestors: ['https://a.example/path'] },
    { portalHosts: ['https://a.example'] },
    { portalHosts: [] },
    { portalMaxEndpoints: 0 },
    { portalMaxPerSecond: 0 },
  ])('are refused where they are wrong: %j', (given) => {
    expect(() => parseSettings({ portal: true, ...given })).toThrow(Object.keys(given)[0]);
  });
});

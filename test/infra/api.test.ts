import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkedVariants } from '../../infra/checked-variants.ts';
import { createStacks } from '../../infra/deployment.ts';
import { LOCAL, resourceAt, resourcesOf, templatesFor, testApp, TOKENS, TUNED } from './templates.ts';

const { pipeline } = templatesFor();
const { pipeline: tuned } = templatesFor(TUNED);

const routesIn = (template = pipeline) =>
  [...resourcesOf(template, 'AWS::ApiGatewayV2::Route').values()].map(({ Properties }) => ({
    key: Properties['RouteKey'],
    authorization: Properties['AuthorizationType'],
  }));

const CONFIRM = '/v2/queues/{queue}/subscriptions/{subscription}/confirm';

const PULL = ['receive', 'ack', 'nack'].map((step) => `POST /v2/pull/{queue}/{subscription}/${step}`);

const JWKS = 'GET /v2/queues/{queue}/subscriptions/{subscription}/jwks.json';

/** Ping, public keys, and what the function authorises by a token. All other routes require authorisation. */
const OPEN = ['GET /v2/ping', `GET ${CONFIRM}`, `POST ${CONFIRM}`, JWKS, ...PULL].map((key) => ({
  key,
  authorization: 'NONE',
}));

/** Of a deployment with a portal, authorised by its tokens. The gate is for a role, also here. */
const PORTAL = [
  'GET /v2/portal/session',
  'POST /v2/portal/session',
  'GET /portal',
  'ANY /portal/{proxy+}',
].map((key) => ({ key, authorization: 'NONE' }));

const sorted = (routes: readonly { key: unknown }[]) =>
  routes.toSorted((one, other) => (String(one.key) < String(other.key) ? -1 : 1));

/** All others: those that open secrets have a separate function. */
const OPENING = [
  'POST /v2/queues/{queue}/subscriptions/{subscription}/receive',
  'POST /v2/credentials/{queue}',
];

const routesOf = (authorization: string) => [
  { key: '$default', authorization },
  ...OPEN,
  ...OPENING.map((key) => ({ key, authorization })),
];

describe('the API', () => {
  it('requires IAM signatures by default, and nothing in a local deployment that sets `none`', () => {
    expect(routesIn()).toEqual(routesOf('AWS_IAM'));
    expect(routesIn(templatesFor(LOCAL).pipeline)).toEqual(routesOf('NONE'));
  });

  it('requires tokens of the configured issuer and audience', () => {
    const gate = { key: 'ANY /v2/portal/queues/{proxy+}', authorization: 'AWS_IAM' };
    expect(sorted(routesIn(tuned))).toEqual(sorted([...routesOf('JWT'), ...PORTAL, gate]));
    tuned.hasResourceProperties('AWS::ApiGatewayV2::Authorizer', {
      AuthorizerType: 'JWT',
      IdentitySource: ['$request.header.Authorization'],
      JwtConfiguration: { Issuer: 'https://id.example.com', Audience: ['posthaste'] },
    });
  });

  it.each([
    [2, {}],
    [1, { jwtQueuesClaim: 'queues' }],
    [0, { jwtQueuesClaim: 'queues', jwtScopes: TUNED.jwtScopes }],
  ])('warns %i times that tokens are unrestricted: %j', (count, settings) => {
    const { pipeline } = createStacks(testApp(), { ...TOKENS, ...settings });
    const warnings = pipeline.node
      .findAll()
      .flatMap(({ node }) => node.metadata.map(({ data }) => String(data)));
    expect(warnings.filter((text) => text.includes('Set jwt'))).toHaveLength(count);
  });
});

describe('the access log of the API', () => {
  const formatIn = (template = pipeline): string => {
    const [stage] = resourcesOf(template, 'AWS::ApiGatewayV2::Stage').values();
    return z.object({ AccessLogSettings: z.object({ Format: z.string() }) }).parse(stage?.Properties)
      .AccessLogSettings.Format;
  };
  const format = formatIn();
  const [logGroup] = [...resourcesOf(tuned, 'AWS::Logs::LogGroup')].filter(([id]) =>
    id.includes('AccessLog'),
  );

  it('has a line for each request, including rejected ones, and expires', () => {
    expect(logGroup?.[1]).toMatchObject({ DeletionPolicy: 'Retain', Properties: { RetentionInDays: 7 } });
    expect(JSON.parse(format)).toMatchObject({
      status: '$context.status',
      caller: '$context.identity.userArn',
    });
  });

  it('contains the subject of the token', () => {
    expect(JSON.parse(formatIn(tuned))).toMatchObject({
      caller: '$context.authorizer.claims.sub',
    });
  });

  it('contains the route but neither path nor query, which can hold a confirmation token', () => {
    expect(JSON.parse(format)).toMatchObject({ route: '$context.routeKey' });
    expect(format).not.toMatch(/\$context\.(path|query|http)/i);
  });
});

describe('the limits of the API', () => {
  const stageIn = (template = pipeline) => {
    const [stage, ...others] = resourcesOf(template, 'AWS::ApiGatewayV2::Stage');
    if (stage === undefined || others.length > 0) throw new Error('Expected one stage');
    return stage[1].Properties;
  };
  const limitOf = (rate: number) => ({ ThrottlingRateLimit: rate, ThrottlingBurstLimit: 2 * rate });

  it('are lower for open routes, and keep API callers from using the concurrency of deliveries', () => {
    expect(stageIn()).toMatchObject({
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: limitOf(100),
      RouteSettings: Object.fromEntries(OPEN.map(({ key }) => [key, limitOf(PULL.includes(key) ? 50 : 10)])),
    });
  });

  it('can be set, and open routes never get more than the others', () => {
    expect(stageIn(tuned)).toMatchObject({
      DefaultRouteSettings: limitOf(4),
      RouteSettings: Object.fromEntries([...OPEN, ...PORTAL].map(({ key }) => [key, limitOf(4)])),
    });
  });

  it('include a concurrency of its function, if one is reserved', () => {
    const reservedIn = (template = pipeline) =>
      [...resourcesOf(template, 'AWS::Lambda::Function')].flatMap(([id, { Properties }]) =>
        Properties['ReservedConcurrentExecutions'] === undefined
          ? []
          : [[id.slice(0, -8), Properties['ReservedConcurrentExecutions']]],
      );
    // Small accounts refuse to reserve any.
    expect(reservedIn()).toEqual([]);
    expect(reservedIn(tuned)).toEqual([
      ['PipelineApiFunction', 20],
      ['PipelineSecretsFunction', 20],
      ['PipelinePortalFunction', 20],
    ]);
  });

  it('hold for the routes of the portal, which are open to all', () => {
    const { pipeline: portal } = templatesFor(checkedVariants['portal']);
    expect(stageIn(portal)['RouteSettings']).toMatchObject(
      Object.fromEntries(PORTAL.map(({ key }) => [key, limitOf(50)])),
    );
    expect(stageIn(portal)['RouteSettings']).toMatchObject({ 'GET /v2/ping': limitOf(10) });
  });

  it('do not concern the routes that open secrets, which only their function serves', () => {
    const handlers = new Map(
      [...resourcesOf(pipeline, 'AWS::ApiGatewayV2::Integration')].map(([id, { Properties }]) => [
        id,
        JSON.stringify(Properties['IntegrationUri']),
      ]),
    );
    const served = [...resourcesOf(pipeline, 'AWS::ApiGatewayV2::Route').values()].filter(({ Properties }) =>
      [...handlers].some(
        ([id, handler]) =>
          handler.includes('PipelineSecretsLive') && JSON.stringify(Properties['Target']).includes(id),
      ),
    );
    expect(served.map(({ Properties }) => Properties['RouteKey'])).toEqual([PULL[0], ...OPENING]);
  });

  it('are set after their routes exist', () => {
    const open = [...resourcesOf(pipeline, 'AWS::ApiGatewayV2::Route')].filter(([, { Properties }]) =>
      OPEN.some(({ key }) => key === Properties['RouteKey']),
    );
    const [stage] = Object.values(pipeline.findResources('AWS::ApiGatewayV2::Stage'));
    expect(stage?.['DependsOn']).toEqual(expect.arrayContaining(open.map(([id]) => id)));
  });
});

it('invokes the version in service, and deploys that only once it is permitted', () => {
  const permissions = [...resourcesOf(pipeline, 'AWS::Lambda::Permission')].filter(
    ([, { Properties }]) => Properties['Principal'] === 'apigateway.amazonaws.com',
  );
  const integrations = resourcesOf(pipeline, 'AWS::ApiGatewayV2::Integration');
  const aliases = ['Api', 'Secrets'].map((name) => ({
    Ref: resourceAt(pipeline, 'AWS::Lambda::Alias', `Pipeline${name}Live`).id,
  }));
  for (const [, { Properties }] of permissions) expect(aliases).toContainEqual(Properties['FunctionName']);
  for (const { Properties } of integrations.values())
    expect(aliases).toContainEqual(Properties['IntegrationUri']);
  for (const integration of Object.values(pipeline.findResources('AWS::ApiGatewayV2::Integration')))
    expect(integration['DependsOn']).toEqual(expect.arrayContaining(permissions.map(([id]) => id)));
});

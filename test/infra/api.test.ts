import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createStacks } from '../../infra/deployment.ts';
import { resourcesOf, templatesFor, testApp, TOKENS } from './templates.ts';

const routesWith = (settings: Record<string, unknown>) =>
  [...resourcesOf(templatesFor(settings).pipeline, 'AWS::ApiGatewayV2::Route').values()].map(
    ({ Properties }) => ({ key: Properties['RouteKey'], authorization: Properties['AuthorizationType'] }),
  );

const CONFIRM = '/v2/queues/{queue}/subscriptions/{subscription}/confirm';

const PULL = ['receive', 'ack', 'nack'].map((step) => `POST /v2/pull/{queue}/{subscription}/${step}`);

const JWKS = 'GET /v2/queues/{queue}/subscriptions/{subscription}/jwks.json';

/** Ping, public keys, and what the function authorises by a token. All other routes require authorisation. */
const OPEN = ['GET /v2/ping', `GET ${CONFIRM}`, `POST ${CONFIRM}`, JWKS, ...PULL].map((key) => ({
  key,
  authorization: 'NONE',
}));

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
  it('requires IAM signatures by default', () => {
    expect(routesWith({})).toEqual(routesOf('AWS_IAM'));
  });

  it('requires no authorisation in a local deployment that sets `none`', () => {
    const settings = { local: true, apiAuthorization: 'none' };
    expect(routesWith(settings)).toEqual(routesOf('NONE'));
  });

  it('requires tokens of the configured issuer and audience', () => {
    expect(routesWith(TOKENS)).toEqual(routesOf('JWT'));
    templatesFor(TOKENS).pipeline.hasResourceProperties('AWS::ApiGatewayV2::Authorizer', {
      AuthorizerType: 'JWT',
      IdentitySource: ['$request.header.Authorization'],
      JwtConfiguration: { Issuer: 'https://id.example.com', Audience: ['posthaste'] },
    });
  });
});

describe('a deployment with tokens', () => {
  const warningsOf = (settings: object) =>
    Annotations.fromStack(createStacks(testApp(), { ...TOKENS, ...settings }).pipeline).findWarning(
      '*',
      Match.stringLikeRegexp('Set jwt'),
    );

  it('warns that tokens are unrestricted, unless scopes and a claim for queues are set', () => {
    expect(warningsOf({})).toHaveLength(2);
    expect(warningsOf({ jwtQueuesClaim: 'queues' })).toHaveLength(1);
    expect(
      warningsOf({
        jwtScopes: { read: 'r', publish: 'p', manage: 'm', credentials: 'c' },
        jwtQueuesClaim: 'queues',
      }),
    ).toHaveLength(0);
  });
});

describe('the access log of the API', () => {
  const formatIn = ({ pipeline }: ReturnType<typeof templatesFor>): string => {
    const [stage] = resourcesOf(pipeline, 'AWS::ApiGatewayV2::Stage').values();
    return z.object({ AccessLogSettings: z.object({ Format: z.string() }) }).parse(stage?.Properties)
      .AccessLogSettings.Format;
  };
  const templates = templatesFor({ logRetentionDays: 7 });
  const { pipeline } = templates;
  const format = formatIn(templates);
  const [logGroup] = [...resourcesOf(pipeline, 'AWS::Logs::LogGroup')].filter(([id]) =>
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
    expect(JSON.parse(formatIn(templatesFor(TOKENS)))).toMatchObject({
      caller: '$context.authorizer.claims.sub',
    });
  });

  it('contains the route but neither path nor query, which can hold a confirmation token', () => {
    expect(JSON.parse(format)).toMatchObject({ route: '$context.routeKey' });
    expect(format).not.toMatch(/\$context\.(path|query|http)/i);
  });
});

describe('the limits of the API', () => {
  const stageWith = (settings: Record<string, unknown>) => {
    const [stage, ...others] = resourcesOf(templatesFor(settings).pipeline, 'AWS::ApiGatewayV2::Stage');
    if (stage === undefined || others.length > 0) throw new Error('Expected one stage');
    const [id, { Properties }] = stage;
    return { id, ...Properties };
  };
  const limitOf = (rate: number) => ({ ThrottlingRateLimit: rate, ThrottlingBurstLimit: 2 * rate });

  it('are lower for open routes, and keep API callers from using the concurrency of deliveries', () => {
    expect(stageWith({})).toMatchObject({
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: limitOf(100),
      RouteSettings: Object.fromEntries(OPEN.map(({ key }) => [key, limitOf(PULL.includes(key) ? 50 : 10)])),
    });
  });

  it('can be set, and open routes never get more than the others', () => {
    expect(stageWith({ apiRateLimit: 2000 })).toMatchObject({ DefaultRouteSettings: limitOf(2000) });
    expect(stageWith({ apiRateLimit: 4 })).toMatchObject({
      DefaultRouteSettings: limitOf(4),
      RouteSettings: Object.fromEntries(OPEN.map(({ key }) => [key, limitOf(4)])),
    });
  });

  it('include a concurrency of its function, if one is reserved', () => {
    const reservedIn = (settings: Record<string, unknown>) =>
      [...resourcesOf(templatesFor(settings).pipeline, 'AWS::Lambda::Function').values()].flatMap(
        ({ Properties }) =>
          Properties['ReservedConcurrentExecutions'] === undefined
            ? []
            : [[Properties['Description'], Properties['ReservedConcurrentExecutions']]],
      );
    expect(reservedIn({})).toEqual([]);
    expect(reservedIn({ apiConcurrency: 20 })).toEqual([
      ['Posthaste: serves the administration API', 20],
      ['Posthaste: serves receives by pull and exports of credentials', 20],
    ]);
  });

  it('do not concern the routes that open secrets, which only their function serves', () => {
    const { pipeline } = templatesFor();
    const handlers = new Map(
      [...resourcesOf(pipeline, 'AWS::ApiGatewayV2::Integration')].map(([id, { Properties }]) => [
        id,
        JSON.stringify(Properties['IntegrationUri']),
      ]),
    );
    const served = [...resourcesOf(pipeline, 'AWS::ApiGatewayV2::Route').values()].filter(({ Properties }) =>
      [...handlers].some(
        ([id, handler]) =>
          handler.includes('PipelineSecretsFunction') && JSON.stringify(Properties['Target']).includes(id),
      ),
    );
    expect(served.map(({ Properties }) => Properties['RouteKey'])).toEqual([PULL[0], ...OPENING]);
  });

  it('are set after their routes exist', () => {
    const { pipeline } = templatesFor();
    const open = [...resourcesOf(pipeline, 'AWS::ApiGatewayV2::Route')].filter(([, { Properties }]) =>
      OPEN.some(({ key }) => key === Properties['RouteKey']),
    );
    const [stage] = Object.values(pipeline.findResources('AWS::ApiGatewayV2::Stage'));
    expect(stage?.['DependsOn']).toEqual(expect.arrayContaining(open.map(([id]) => id)));
  });

  it('are on the stage that earlier versions created', () => {
    expect(stageWith({}).id).toMatch(/HttpApiDefaultStage/);
  });
});

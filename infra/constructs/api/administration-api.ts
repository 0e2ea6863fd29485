import { Annotations, Validations } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  CfnStage,
  HttpApi,
  HttpMethod,
  HttpNoneAuthorizer,
  HttpStage,
  type HttpRoute,
  type IHttpRouteAuthorizer,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer, HttpJwtAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { openRoutes } from '../../../shared/config/open-routes.ts';
import type { ApiAuthorization, DeploymentSettings } from '../../settings.ts';
import type { ApiFunction } from './api-function.ts';
import { removalOf } from '../state/protection.ts';

export interface AdministrationApiProps {
  readonly settings: DeploymentSettings;
  readonly handler: ApiFunction;
}

/**
 * Requests a second, from all callers together, of each route that anybody may call: those who confirm and those who look
 * whether we are there come one by one. They share the account's concurrent functions with the deliveries.
 */
const OPEN_RATE_LIMIT = 10;

/** At most so many at once, in seconds' worth of requests. */
const BURST_SECONDS = 2;

/**
 * A line for every request, those as well that API Gateway turned away before the function saw them. The route, not the path:
 * a path may hold anything, and the query of a confirmation holds its token. The caller is a role or user, or under JWT the
 * subject of the token ("Customize HTTP API access logs", API Gateway developer guide).
 */
function accessLogFormat({ kind }: ApiAuthorization): AccessLogFormat {
  return AccessLogFormat.custom(
    JSON.stringify({
      requestId: '$context.requestId',
      at: '$context.requestTime',
      sourceIp: '$context.identity.sourceIp',
      caller: kind === 'jwt' ? '$context.authorizer.claims.sub' : '$context.identity.userArn',
      route: '$context.routeKey',
      status: '$context.status',
      error: '$context.error.message',
      bytes: '$context.responseLength',
      durationMs: '$context.responseLatency',
    }),
  );
}

/** The HTTP API in front of the api function. Its callers are authorised, all in the same way, but for two routes. */
export class AdministrationApi extends Construct {
  readonly url: string;
  readonly apiId: string;
  private readonly accessLog: LogGroup;

  constructor(scope: Construct, id: string, { settings, handler }: AdministrationApiProps) {
    super(scope, id);
    // API Gateway writes to it by a policy of the group's own, which AWS makes ("Logs sent to CloudWatch Logs", CloudWatch Logs
    // user guide), so that a full account-wide policy is not in the way.
    this.accessLog = new LogGroup(this, 'AccessLog', {
      retention: settings.logRetentionDays,
      removalPolicy: removalOf(settings.local),
    });
    const integration = new HttpLambdaIntegration('Handler', handler.lambda);
    const api = new HttpApi(this, 'HttpApi', {
      description: 'Posthaste: administration',
      createDefaultStage: false,
      defaultIntegration: integration,
      defaultAuthorizer: authorizerOf(settings.apiAuthorization),
    });
    const open = openRoutes.flatMap(({ path, methods }) =>
      api.addRoutes({
        path,
        methods: methods.map((method) => HttpMethod[method]),
        integration,
        authorizer: new HttpNoneAuthorizer(),
      }),
    );
    acknowledgeOpenRoutes(api, open, settings);
    if (settings.apiAuthorization.kind === 'jwt') warnOfTokens(this, settings);
    const { apiRateLimit } = settings;
    // The id that CDK gives its own: the name `$default` cannot be taken twice, not even while one stage replaces another.
    const stage = new HttpStage(api, 'DefaultStage', {
      httpApi: api,
      autoDeploy: true,
      accessLogSettings: {
        destination: new LogGroupLogDestination(this.accessLog),
        format: accessLogFormat(settings.apiAuthorization),
      },
      throttle: { rateLimit: apiRateLimit, burstLimit: BURST_SECONDS * apiRateLimit },
    });
    limitOpenRoutes(stage, Math.min(OPEN_RATE_LIMIT, apiRateLimit));
    // API Gateway refuses limits of a route that is not there.
    stage.node.addDependency(...open);
    this.url = api.apiEndpoint;
    this.apiId = api.apiId;
  }
}

function warnOfTokens(scope: Construct, { jwtScopes, jwtQueuesClaim }: DeploymentSettings): void {
  const annotations = Annotations.of(scope);
  if (jwtScopes === undefined)
    annotations.addWarningV2(
      'posthaste:tokens-without-scopes',
      'Each token of the issuer for this audience may do everything, the export of credentials included. Set jwtScopes.',
    );
  if (jwtQueuesClaim === undefined)
    annotations.addWarningV2(
      'posthaste:tokens-without-queues',
      'Each token of the issuer for this audience may touch every queue. Set jwtQueuesClaim.',
    );
}

/** CDK's stage has no words for the limits of single routes. */
function limitOpenRoutes(stage: HttpStage, rateLimit: number): void {
  const resource = stage.node.defaultChild;
  if (!(resource instanceof CfnStage)) throw new Error('the stage is not what this version of CDK makes');
  const limits = { ThrottlingRateLimit: rateLimit, ThrottlingBurstLimit: BURST_SECONDS * rateLimit };
  const keys = openRoutes.flatMap(({ path, methods }) => methods.map((method) => `${method} ${path}`));
  resource.routeSettings = Object.fromEntries(keys.map((key) => [key, limits]));
}

function acknowledgeOpenRoutes(api: HttpApi, open: readonly HttpRoute[], settings: DeploymentSettings): void {
  const id = 'AwsSolutions-APIG4';
  for (const route of open) {
    const reason =
      'Whether we are there is no secret, and a confirmation proves itself by the token of its link.';
    Validations.of(route).acknowledge({ id, reason });
  }
  if (settings.apiAuthorization.kind !== 'none') return;
  Validations.of(api).acknowledge({ id, reason: 'On a laptop: the setting is refused everywhere else.' });
}

function authorizerOf(authorization: ApiAuthorization): IHttpRouteAuthorizer {
  switch (authorization.kind) {
    case 'iam':
      return new HttpIamAuthorizer();
    case 'jwt':
      return new HttpJwtAuthorizer('Jwt', authorization.issuer, { jwtAudience: [...authorization.audience] });
    case 'none':
      return new HttpNoneAuthorizer();
  }
}

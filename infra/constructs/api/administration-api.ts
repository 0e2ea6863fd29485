import { Annotations } from 'aws-cdk-lib';
import {
  CfnIntegration,
  CfnStage,
  HttpApi,
  HttpMethod,
  HttpNoneAuthorizer,
  type HttpRoute,
  type IHttpApi,
  type IHttpRouteAuthorizer,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer, HttpJwtAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { CfnPermission } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import {
  BURST_SECONDS,
  isOpenPath,
  isTokenRoute,
  openRoutes,
  PORTAL_GATE,
  portalOpenRoutes,
  TOKEN_RATE_LIMIT,
  secretRoutes,
} from '../../../shared/config/open-routes.ts';
import { isQueueName, QUEUE_NAME_RULE } from '../../../shared/domain/message/message.ts';
import { type ApiAuthorization, type DeploymentSettings, SettingsError, shownValue } from '../../settings.ts';
import { acknowledge } from '../newer-cdk.ts';
import { chooseRemovalPolicy } from '../state/protection.ts';
import type { ApiFunction, SecretsFunction } from './api-function.ts';
import type { PortalFunction } from './portal.ts';

export interface AdministerOptions {
  /** The queues that may be managed. @default all queues, and the routes about no single queue */
  readonly queues?: readonly string[];
  /** Whether the subscribers' credentials and signing secrets may be exported, too. @default false */
  readonly exportCredentials?: boolean;
}

/** A route, or all below it, as a policy of IAM names them. */
type PermittedRoute = { readonly method: string; readonly path: string };

const CHANGES = ['PUT', 'POST', 'PATCH', 'DELETE'];

/**
 * Routes for a policy of IAM, a list for each statement: CDK divides a policy that is too large between statements. Each
 * method is named, because `*` would match slashes (docs/api.md#calling-it).
 * @throws SettingsError for an unknown option, and for what is no name of a queue
 */
function administeredRoutes(options: AdministerOptions): PermittedRoute[][] {
  requireOptions(options);
  const { queues, exportCredentials } = options;
  const credentials = (queue: string) =>
    exportCredentials === true ? [{ method: 'POST', path: `/v2/credentials/${queue}` }] : [];
  if (queues === undefined)
    return [
      [
        ...['/', '/v2', '/v2/*'].map((path) => ({ method: 'GET', path })),
        ...CHANGES.map((method) => ({ method, path: '/v2/queues/*' })),
        ...['PUT', 'DELETE'].map((method) => ({ method, path: '/v2/event-types/*' })),
        ...credentials('*'),
      ],
    ];
  return queues.map((queue) => [
    ...['GET', ...CHANGES].flatMap((method) => [
      { method, path: `/v2/queues/${queue}` },
      { method, path: `/v2/queues/${queue}/*` },
    ]),
    ...credentials(queue),
  ]);
}

/** Checks without trust in the types: in JavaScript, a misspelt `queues` would otherwise allow all queues. */
function requireOptions(options: AdministerOptions): void {
  const problems = Object.keys(options)
    .filter((name) => !OPTIONS.includes(name))
    .map((name) => `${name} is not an option of grantAdminister. The options are: ${OPTIONS.join(', ')}`);
  if (options.queues !== undefined) problems.push(...findProblems(options.queues));
  if (problems.length > 0) throw new SettingsError(problems);
}

const OPTIONS = ['queues', 'exportCredentials'];

function findProblems(queues: unknown): string[] {
  if (!Array.isArray(queues) || queues.length === 0)
    return [`queues (${shownValue(queues)}) must have a name; leave it out for all queues`];
  return queues
    .filter((queue) => typeof queue !== 'string' || !isQueueName(queue))
    .map((queue) => `queues (${shownValue(queue)}) must be names of queues: ${QUEUE_NAME_RULE}`);
}

export interface AdministrationApiProps {
  readonly settings: DeploymentSettings;
  readonly handler: ApiFunction;
  /** Serves the routes that open secrets. */
  readonly secrets: SecretsFunction;
  /** Creates the function that serves the page of customers and calls this API. @default there is no portal */
  readonly servePortal?: ((api: HttpApi) => PortalFunction) | undefined;
}

/**
 * Requests a second, from all callers together, to the ping, the confirmation and the public keys. Low, because open routes
 * use the account's concurrency, which deliveries need.
 */
const OPEN_RATE_LIMIT = 10;

/**
 * One line for each request, including those that API Gateway rejects. Logs the route instead of the path, which can
 * contain a confirmation token. The caller is an IAM role or user, or the subject of the token ("Customize HTTP API
 * access logs", API Gateway developer guide).
 */
function accessLogFormat({ kind }: ApiAuthorization): string {
  return JSON.stringify({
    requestId: '$context.requestId',
    at: '$context.requestTime',
    sourceIp: '$context.identity.sourceIp',
    caller: kind === 'jwt' ? '$context.authorizer.claims.sub' : '$context.identity.userArn',
    route: '$context.routeKey',
    status: '$context.status',
    error: '$context.error.message',
    bytes: '$context.responseLength',
    durationMs: '$context.responseLatency',
  });
}

/** The HTTP API in front of the api function. All routes except the open ones require authorisation. */
export class AdministrationApi extends Construct {
  readonly url: string;
  readonly apiId: string;
  readonly api: IHttpApi;
  readonly portal: PortalFunction | undefined;
  private readonly authorization: ApiAuthorization;

  constructor(scope: Construct, id: string, props: AdministrationApiProps) {
    super(scope, id);
    const { settings, handler, secrets, servePortal } = props;
    // API Gateway gets access by a policy that AWS adds to the log group ("Logs sent to CloudWatch Logs", CloudWatch
    // Logs user guide). The account-wide resource policy, which may be full, is not needed.
    const accessLog = new LogGroup(this, 'AccessLog', {
      retention: settings.logRetentionDays,
      removalPolicy: chooseRemovalPolicy(settings.local),
    });
    const integration = new HttpLambdaIntegration('Handler', handler.alias);
    const opening = new HttpLambdaIntegration('Secrets', secrets.alias);
    const api = new HttpApi(this, 'HttpApi', {
      description: 'Posthaste: administration API',
      defaultIntegration: integration,
      defaultAuthorizer: createAuthorizer(settings.apiAuthorization),
    });
    const routes = servePortal === undefined ? openRoutes : [...openRoutes, ...portalOpenRoutes];
    const open = routes.flatMap((route) => {
      const opensSecrets = secretRoutes.some(({ path }) => path === route.path);
      return addRoute(api, route, opensSecrets ? opening : integration, new HttpNoneAuthorizer());
    });
    for (const route of secretRoutes) if (!isOpenPath(route.path)) addRoute(api, route, opening);
    this.portal = servePortal?.(api);
    if (this.portal !== undefined) open.push(...addPortalRoutes(api, integration, this.portal));
    permitBeforeIntegrating(api);
    acknowledgeOpenRoutes(api, open, settings);
    if (settings.apiAuthorization.kind === 'jwt') warnOfUnrestrictedTokens(this, settings);
    const { apiRateLimit } = settings;
    const stage = defaultStageOf(api);
    stage.accessLogSettings = {
      destinationArn: accessLog.logGroupArn,
      format: accessLogFormat(settings.apiAuthorization),
    };
    stage.defaultRouteSettings = {
      throttlingRateLimit: apiRateLimit,
      throttlingBurstLimit: BURST_SECONDS * apiRateLimit,
    };
    stage.routeSettings = limitsOfOpenRoutes([...routes, ...(this.portal ? portalPages : [])], apiRateLimit);
    // API Gateway refuses limits for a route that does not exist yet.
    stage.node.addDependency(...open);
    this.url = api.apiEndpoint;
    this.apiId = api.apiId;
    this.api = api;
    this.authorization = settings.apiAuthorization;
  }

  /** @throws SettingsError for tokens, which IAM does not know, and for what is no name of a queue */
  grantAdminister(grantee: IGrantable, options: AdministerOptions = {}): Grant {
    if (this.authorization.kind === 'jwt')
      throw new SettingsError([
        'apiAuthorization (jwt) must be iam for grantAdminister: the claims of a token say what it allows',
      ]);
    const grants = administeredRoutes(options).map((routes) =>
      Grant.addToPrincipal({
        grantee,
        actions: ['execute-api:Invoke'],
        resourceArns: routes.map(({ method, path }) => this.api.arnForExecuteApi(method, path, '$default')),
      }),
    );
    return grants.reduce((all, one) => all.combine(one));
  }
}

function warnOfUnrestrictedTokens(scope: Construct, { jwtScopes, jwtQueuesClaim }: DeploymentSettings): void {
  const annotations = Annotations.of(scope);
  if (jwtScopes === undefined)
    annotations.addWarningV2(
      'posthaste:tokens-without-scopes',
      'Every token of the issuer for this audience can call every route, including the export of credentials. Set jwtScopes.',
    );
  if (jwtQueuesClaim === undefined)
    annotations.addWarningV2(
      'posthaste:tokens-without-queues',
      'Every token of the issuer for this audience can access every queue. Set jwtQueuesClaim.',
    );
}

/** The stage deploys an integration at once, also one that changes to an alias: without a permission for it, requests would fail. */
function permitBeforeIntegrating(api: HttpApi): void {
  const found = api.node.findAll();
  const permissions = found.filter((one) => one instanceof CfnPermission);
  for (const one of found) if (one instanceof CfnIntegration) one.node.addDependency(...permissions);
}

/** The page of customers, and what it calls. */
const portalPages = [
  { path: '/portal', methods: ['GET'] },
  { path: '/portal/{proxy+}', methods: ['ANY'] },
] as const;

/** Returns those without authorisation. The gate is for the role of portal sessions, also in a deployment with tokens. */
function addPortalRoutes(
  api: HttpApi,
  integration: HttpLambdaIntegration,
  portal: PortalFunction,
): HttpRoute[] {
  api.addRoutes({ path: PORTAL_GATE, integration, authorizer: new HttpIamAuthorizer() });
  const page = new HttpLambdaIntegration('Portal', portal.alias);
  return portalPages.flatMap((route) => addRoute(api, route, page, new HttpNoneAuthorizer()));
}

type Route = { readonly path: string; readonly methods: readonly (keyof typeof HttpMethod)[] };

/** Without an authorizer, that of the API. */
function addRoute(
  api: HttpApi,
  { path, methods }: Route,
  integration: HttpLambdaIntegration,
  authorizer?: IHttpRouteAuthorizer,
): HttpRoute[] {
  const names = methods.map((method) => HttpMethod[method]);
  return api.addRoutes({ path, methods: names, integration, ...(authorizer && { authorizer }) });
}

/** The stage that CDK gives the API. A separate one would not be its default, which a custom domain maps to. */
function defaultStageOf(api: HttpApi): CfnStage {
  const stage = api.defaultStage?.node.defaultChild;
  if (stage instanceof CfnStage) return stage;
  throw new Error('The stage is not the CfnStage that this version of CDK is expected to create.');
}

/** By the keys of routes, in the form that CloudFormation takes. */
function limitsOfOpenRoutes(routes: readonly Route[], apiRateLimit: number): Record<string, object> {
  return Object.fromEntries(
    routes.flatMap(({ path, methods }) => {
      const rateLimit = Math.min(isTokenRoute(path) ? TOKEN_RATE_LIMIT : OPEN_RATE_LIMIT, apiRateLimit);
      const limits = { ThrottlingRateLimit: rateLimit, ThrottlingBurstLimit: BURST_SECONDS * rateLimit };
      return methods.map((method) => [`${method} ${path}`, limits]);
    }),
  );
}

function acknowledgeOpenRoutes(api: HttpApi, open: readonly HttpRoute[], settings: DeploymentSettings): void {
  const id = 'AwsSolutions-APIG4';
  for (const route of open) {
    const reason =
      'Ping reveals nothing. Confirmations, pull and the portal are authorised by a token, which the function checks. Public keys are under the random id of their subscription.';
    acknowledge(route, { id, reason });
  }
  if (settings.apiAuthorization.kind !== 'none') return;
  acknowledge(api, {
    id,
    reason: 'Local deployments only: the setting is refused elsewhere.',
  });
}

function createAuthorizer(authorization: ApiAuthorization): IHttpRouteAuthorizer {
  switch (authorization.kind) {
    case 'iam':
      return new HttpIamAuthorizer();
    case 'jwt':
      return new HttpJwtAuthorizer('Jwt', authorization.issuer, { jwtAudience: [...authorization.audience] });
    case 'none':
      return new HttpNoneAuthorizer();
  }
}

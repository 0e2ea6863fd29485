import { Problem } from './install/problem.mjs';

/** Outputs of a stack by their names in CloudFormation. */
export type Outputs = Readonly<Record<string, string>>;

/**
 * The marker of a deployment, in a stack of any name. Below a construct, CDK adds its path and a hash, but neither for the
 * id `Default`.
 */
const MARKER = /^(?:(.*)PosthasteDeployment([0-9A-F]{8})|PosthasteDeployment)$/;

/**
 * The deployments in these stacks: the name of each, its outputs by their plain names,
 * and the stack it was found in.
 */
export function deploymentsIn<Stack extends Outputs>(
  stacks: readonly Stack[],
): { name: string; outputs: Outputs; stack: Stack }[] {
  return stacks.flatMap((stack) =>
    Object.entries(stack).flatMap(([key, name]) => {
      const [isMarker, prefix = '', hash = ''] = MARKER.exec(key) ?? [];
      if (isMarker === undefined) return [];
      return [{ name, outputs: outputsBelow(prefix, hash.length, stack), stack }];
    }),
  );
}

/** The outputs below a construct, without its path and the hash. */
function outputsBelow(prefix: string, hashLength: number, stack: Outputs): Outputs {
  return Object.fromEntries(
    Object.entries(stack)
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, value]) => [key.slice(prefix.length, key.length - hashLength), value]),
  );
}

/**
 * The outputs of a CDK app with one deployment.
 * @throws Problem if the app has no deployment, or several
 */
export function outputsOfApp(stacks: readonly Outputs[]): Outputs {
  const deployments = deploymentsIn(stacks);
  const [found] = deployments;
  if (deployments.length > 1)
    throw new Problem(
      `The app has several deployments of Posthaste (${deployments.map(({ name }) => name).join(', ')}). A start can run one.`,
    );
  if (found !== undefined) return found.outputs;
  throw new Problem(
    'The app has no deployment of Posthaste: no stack has the construct Posthaste or Pipeline.',
  );
}

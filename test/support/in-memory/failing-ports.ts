/** How a call fails: before its effect, after it (the answer is lost), or because the function dies there and then. */
export type Failure = 'before' | 'after' | 'killed';

type Port = Record<string, (...given: never[]) => unknown>;

/**
 * Ports whose k-th call, counted over all of them, fails. `killed`: so do all that follow, until the next invocation.
 * `calls` says how many there were.
 */
export const failingPorts = <Ports extends Record<string, object>>(
  ports: Ports,
  { at, how, spared }: { at: number; how: Failure; spared: readonly (keyof Ports)[] },
) => {
  let calls = 0;
  let isDead = false;

  const failing =
    (method: (...given: unknown[]) => unknown) =>
    async (...given: unknown[]): Promise<unknown> => {
      calls += 1;
      const isHit = calls === at;
      if (isHit && how === 'killed') isDead = true;
      if (isDead || (isHit && how === 'before')) throw new Error(`call ${calls} failed`);
      const result = await method(...given);
      if (isHit) throw new Error(`the answer of call ${calls} was lost`);
      return result;
    };

  const wrapped = (port: object): object =>
    new Proxy(port, {
      get: (target, name) => {
        const method = (target as Port)[String(name)];
        return typeof method === 'function' ? failing(method.bind(target) as never) : method;
      },
    });

  const faulty = Object.fromEntries(
    Object.entries(ports).map(([name, port]) => [name, spared.includes(name) ? port : wrapped(port)]),
  ) as Ports;

  return {
    ports: faulty,
    calls: () => calls,
    /** The next invocation begins. */
    revive: () => {
      isDead = false;
    },
  };
};

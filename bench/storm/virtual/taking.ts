type Wait = () => Promise<void>;

/** The same port, whose every call takes as long as `wait` before anything happens. */
const taking = <Port extends object>(port: Port, wait: Wait): Port =>
  new Proxy(port, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...args: unknown[]): Promise<unknown> => {
        await wait();
        return await Reflect.apply(method, target, args);
      };
    },
  });

/** All of them such ports. */
export const allTaking = <Ports extends object>(ports: Ports, wait: Wait): Ports =>
  new Proxy(ports, {
    get: (target, name) => {
      const port: unknown = Reflect.get(target, name);
      return typeof port === 'object' && port !== null ? taking(port, wait) : port;
    },
  });

import type { Use } from '../../local/call-log.ts';
import type { Grant } from './grants.ts';

/** Grants that no run of the tests can show to be used, and why they are needed. `role` and `resource`: parts of the name. */
export type Exception = { role?: string; action: string; resource?: string; reason: string };

export type Finding =
  | ({ kind: 'granted_not_used' } & Grant)
  | ({ kind: 'used_not_granted' } & Grant)
  | ({ kind: 'refused' } & Grant)
  /** It is used by now, or no longer granted: nothing is left to except. */
  | ({ kind: 'needless_exception' } & Exception);

export type Comparison = {
  granted: readonly Grant[];
  used: readonly Use[];
  exceptions: readonly Exception[];
};

/** What a role may do against what it did: nothing granted that is not used, nothing used that is not granted. */
export const compare = ({ granted, used, exceptions }: Comparison): Finding[] => {
  const roles = new Set(granted.map(({ role }) => role));
  const uses = used.flatMap((use) => ofRole(use, roles));
  const unused = granted.filter((grant) => !uses.some((use) => use.allowed && covers(grant, use)));
  return [
    ...unused
      .filter((grant) => !exceptions.some((exception) => excepts(exception, grant)))
      .map((grant) => ({ kind: 'granted_not_used' as const, ...grant })),
    ...uses
      .filter((use) => use.allowed && !granted.some((grant) => covers(grant, use)))
      .map((use) => ({ kind: 'used_not_granted' as const, ...grantOf(use) })),
    ...uses.filter(({ allowed }) => !allowed).map((use) => ({ kind: 'refused' as const, ...grantOf(use) })),
    ...exceptions
      .filter((exception) => !unused.some((grant) => excepts(exception, grant)))
      .map((exception) => ({ kind: 'needless_exception' as const, ...exception })),
  ];
};

type RoleUse = Grant & { allowed: boolean };

const ofRole = ({ caller, action, resource, allowed }: Use, roles: ReadonlySet<string>): RoleUse[] => {
  const role = /:assumed-role\/([^/]+)\//.exec(caller)?.[1];
  return role !== undefined && roles.has(role) ? [{ role, action, resource, allowed }] : [];
};

const grantOf = ({ role, action, resource }: RoleUse): Grant => ({ role, action, resource });

const covers = (grant: Grant, use: Grant): boolean =>
  grant.role === use.role && grant.action === use.action && matches(grant.resource, use.resource);

/** As IAM matches: `*` is any text, `?` any character. */
const matches = (pattern: string, resource: string): boolean =>
  new RegExp(
    `^${pattern
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
    's',
  ).test(resource);

const excepts = ({ role = '', action, resource = '' }: Exception, grant: Grant): boolean =>
  action === grant.action && grant.role.includes(role) && grant.resource.includes(resource);

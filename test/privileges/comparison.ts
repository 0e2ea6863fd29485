import type { Use } from '../support/call-log.ts';
import type { Grant } from './grants.ts';

/** A grant whose use the tests cannot show, and why it is needed. `role`, `resource`: parts of the name. */
export type Exception = { role?: string; action: string; resource?: string; reason: string };

export type Finding =
  | ({ kind: 'granted_not_used' } & Grant)
  | ({ kind: 'used_not_granted' } & Grant)
  | ({ kind: 'refused' } & Grant)
  /** The grant is used, or no longer exists, so the exception can be deleted. */
  | ({ kind: 'needless_exception' } & Exception);

export type Comparison = {
  granted: readonly Grant[];
  used: readonly Use[];
  exceptions: readonly Exception[];
};

/** The differences between granted and used permissions: unused grants, uses without a grant, and refused calls. */
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

/** Matches like IAM: `*` is any text, `?` any character. */
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

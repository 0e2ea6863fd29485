import packageJson from '../package.json' with { type: 'json' };
import { z } from 'zod';

/** The version of Posthaste, and the URL of its repository or home page, if package.json names one. */
type Product = { readonly version: string; readonly page?: string };

const packageSchema = z.object({
  version: z.string(),
  homepage: z.string().optional(),
  repository: z.union([z.string(), z.object({ url: z.string() }).transform(({ url }) => url)]).optional(),
});

/** Reads `repository` in any form that npm accepts: a URL with or without `git+`, or GitHub's short form. */
export function parseProduct(content: unknown): Product {
  const { version, homepage, repository } = packageSchema.parse(content);
  const page = [repository, homepage].map(parsePage).find((one) => one !== undefined);
  return { version, ...(page === undefined ? {} : { page }) };
}

const GITHUB = /^(?:github:)?([A-Za-z0-9-]+\/[A-Za-z0-9._-]+)$/;

/** A URL that can stand in the parentheses of a header comment. */
const PAGE = /^https?:\/\/[^\s()\\]+$/;

function parsePage(location: string | undefined): string | undefined {
  const [, shorthand] = GITHUB.exec(location ?? '') ?? [];
  const url = shorthand === undefined ? location?.replace(/^git\+/, '') : `https://github.com/${shorthand}`;
  const page = url?.replace(/\.git$/, '');
  return page !== undefined && PAGE.test(page) ? page : undefined;
}

export const product = parseProduct(packageJson);

/**
 * The `user-agent` of requests to subscribers: the product, and the operator's contact as a comment, or else the page of
 * the product (RFC 9110 §10.1.5).
 */
export function buildUserAgent({ version, page }: Product, contact = page): string {
  if (contact === undefined) return `Posthaste/${version}`;
  return `Posthaste/${version} (${contact.includes('://') ? '+' : ''}${contact})`;
}

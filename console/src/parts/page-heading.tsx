import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { usePage } from '../live/page-context.tsx';
import { hrefTo } from '../route.ts';

type SectionProps = {
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
};

/** A part of a page with a heading. */
export function Section({ title, aside, children }: SectionProps) {
  const id = useId();
  return (
    <section class="section" aria-labelledby={id}>
      <div class="section-head">
        <h2 id={id}>{title}</h2>
        {aside === undefined ? null : <div class="section-aside">{aside}</div>}
      </div>
      {children}
    </section>
  );
}

type LinkBarProps = {
  kind: 'pages' | 'tabs' | 'choices-bar';
  label: string;
  links: readonly (readonly [text: string, href: string, current: boolean])[];
};

/** A bar of links, one of which can be `current`: the page, or a choice on it. */
export function LinkBar({ kind, label, links }: LinkBarProps) {
  return (
    <nav class={kind} aria-label={label}>
      {links.map(([text, href, current]) => (
        <a
          key={href}
          href={href}
          aria-current={current ? (kind === 'choices-bar' ? 'true' : 'page') : undefined}
        >
          {text}
        </a>
      ))}
    </nav>
  );
}

export type Crumb = { text: string; href: string };

export function crumbTo(queue: string): Crumb {
  return { text: queue, href: hrefTo({ page: 'queue', queue }) };
}

type PageHeadingProps = {
  title: string;
  crumbs?: readonly Crumb[];
  kind?: string;
  /** Shown below a title that is a name. */
  id?: string | undefined;
  children?: ComponentChildren;
};

/** The heading of a page. It also sets the window title, and takes the focus when the page opens. */
export function PageHeading({ title, crumbs = [], kind, id, children }: PageHeadingProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { site } = usePage();
  useEffect(() => {
    document.title = `${title} · ${site}`;
  }, [title, site]);
  // Once: the title may become a name when its subject has loaded.
  useEffect(() => heading.current?.focus(), []);
  return (
    <div class="page-heading">
      {crumbs.length === 0 ? null : (
        <nav aria-label="Breadcrumb">
          <ol class="crumbs">
            {crumbs.map(({ text, href }) => (
              <li key={href}>
                <a href={href}>{text}</a>
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div class="page-heading-row">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {kind === undefined ? null : <span class="kind">{kind} </span>}
            {title}
          </h1>
          {id === undefined ? null : <p class="muted id">{id}</p>}
        </div>
        {children === undefined ? null : <div class="actions">{children}</div>}
      </div>
    </div>
  );
}
